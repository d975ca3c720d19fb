/* The agent's directory in PYTHONPATH, from which Python loads the agent when it starts. */
#ifndef PERFSCOPE_AGENT_PATH_H
#define PERFSCOPE_AGENT_PATH_H

/* Puts the directory behind what a script or a program has set PYTHONPATH to without it. Does nothing in what is no
 * Python, so that shells and their children see the variable as it was set. To be called before Python reads it. */
void ps_agent_path_keep(void);

#endif
