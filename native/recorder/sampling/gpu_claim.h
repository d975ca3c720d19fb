/* One process of the job samples a device: the one that has bound a name of it in the kernel's own name space, which
 * ends with the process. */
#ifndef PERFSCOPE_GPU_CLAIM_H
#define PERFSCOPE_GPU_CLAIM_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

typedef struct {
    struct sockaddr_un name;
    int file; /* bound to the name; 0: none */
} ps_gpu_claim;

/* Whether this process samples the device. Where that cannot be found out, several do, and the reader takes one. */
bool ps_gpu_claim_device(const char *uuid, ps_gpu_claim *claim);
/* In a forked child, which may outlive this process: the claim must end with its owner. */
void ps_gpu_drop_claim(ps_gpu_claim *claim);

#endif
