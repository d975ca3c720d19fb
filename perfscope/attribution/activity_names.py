"""The names behind activities: modules, classes and functions of libraries, and system calls."""

from perfscope.schema.enums import Activity

RULES: dict[Activity, str] = {
    Activity.NUMERIC: """
        numpy scipy torch torchmetrics tensorflow tf_keras keras jax jaxlib flax optax sklearn
        cupy cupyx cudf cuml numexpr numba daal4py onedal sklearnex xgboost lightgbm catboost
        statsmodels theano pytensor mxnet paddle transformers peft accelerate deepspeed einops
        dgl torch_geometric onnxruntime mkl opt_einsum sparse dask.array tinygrad mlx bottleneck
        autograd pytorch_lightning lightning diffusers timm bitsandbytes flash_attn xformers
        math cmath random statistics fractions decimal array
        pandas._libs*+ polars*+ pyarrow*+
    """,
    Activity.COMMUNICATION: """
        mpi4py torch.distributed torch._C._distributed_c10d horovod mpi4jax nccl ucp
        cupy.cuda.nccl torch.cuda.nccl tensorflow.python.distribute jax.distributed
    """,
    Activity.DEVICE_WAIT: """
        torch.cuda.synchronize torch._C._cuda_synchronize torch.cuda.streams
        torch._C._CudaEventBase.synchronize torch._C._CudaStreamBase.synchronize
        cupy.cuda.Stream.synchronize cupy.cuda.Device.synchronize cupy.cuda.stream
        jax.block_until_ready jaxlib.xla_extension.ArrayImpl.block_until_ready
        jax._src.array.ArrayImpl._value*
        torch.xpu.synchronize torch.mps.synchronize torch.hpu.synchronize
    """,
    Activity.DATA_PREPARATION: """
        PIL* torchvision* torchtext* torchaudio* torch.utils.data* cv2* skimage* albumentations*
        imageio* av* tokenizers* sentencepiece* tiktoken* datasets* nltk* spacy* gensim* librosa*
        soundfile* tensorflow.python.data* tensorflow_datasets* tfds* sklearn.preprocessing*
        sklearn.feature_extraction* sklearn.datasets* sklearn.model_selection._split*
        transformers.tokenization_utils* transformers.tokenization_utils_base*
        transformers.tokenization_utils_fast* transformers.image_processing_utils* webdataset*
        decord* keras.preprocessing* keras.src.utils.dataset_utils* keras.src.utils.image_utils*
        keras.src.legacy.preprocessing* tf_keras.preprocessing* faker* rdkit* Bio*
        scipy.sparse._sparsetools.csr_column_index1 scipy.sparse._sparsetools.csr_column_index2
        scipy.sparse._sparsetools.csr_row_index scipy.sparse._sparsetools.csr_row_slice
        scipy.sparse._sparsetools.get_csr_submatrix scipy.sparse._sparsetools.csr_sample_values
        scipy.sparse._sparsetools.csr_tocsc scipy.sparse._sparsetools.coo_tocsr
        scipy.sparse._sparsetools.csr_todense scipy.sparse._sparsetools.coo_todense
    """,
    Activity.TEXT: """
        csv*+ re*+ _sre*+ sre_compile*+ sre_parse*+ string*+ textwrap*+ html*+ xml*+ pyexpat*+
        unicodedata*+ difflib*+ email*+ base64*+ binascii*+ quopri*+ codecs*+ encodings*+
        io.StringIO+ io.BytesIO+ lxml*+ bs4*+ dateutil*+ regex*+ ftfy*+ builtins.str+
        builtins.bytes+ builtins.bytearray.decode+ datetime.datetime.strptime+ _strptime*+
        pydantic*+ jsonschema*+ urllib.parse*+
    """,
    Activity.COMPRESSION: """
        zlib* gzip* bz2* lzma* zstandard* zstd* compression* _compression* lz4* blosc* blosc2*
        snappy* brotli* zipfile._ZipWriteFile*
    """,
    Activity.HASHING: """
        hashlib* sha1* sha2* sha3* md5* blake2* xxhash* zlib.crc32 zlib.adler32 binascii.crc32
    """,
    Activity.WORKERS: "multiprocessing.pool",
    Activity.FILES: """
        builtins.open io _pyio os posixpath genericpath pathlib shutil glob fnmatch tempfile
        fileinput linecache filecmp mmap fcntl stat tarfile* zipfile* netrc h5py* netCDF4* zarr*
        tables* lmdb* sqlite3* dbm* shelve* fsspec* pyfive* adios2* numpy.fromfile numpy.load
        numpy.save numpy.savez numpy.loadtxt numpy.savetxt numpy.genfromtxt numpy.memmap
        numpy.core.memmap* numpy._core.memmap* numpy.lib.npyio* numpy.lib._npyio_impl*
        numpy.lib.format* numpy.lib._format_impl* numpy.ndarray.tofile numpy.lib._datasource*
        torch.from_file torch.UntypedStorage.from_file torch._C.PyTorchFileReader
        torch._C.PyTorchFileWriter tensorflow.python.lib.io* tensorflow.io* scipy.io*
        safetensors* builtins.FileIO filelock* joblib.numpy_pickle*
    """,
    Activity.NETWORK: """
        socket ssl urllib* http* requests* urllib3* httpx* aiohttp* ftplib* smtplib* websocket*
        websockets* boto3* botocore* s3fs* gcsfs* google* azure* grpc* redis* psycopg2* pymongo*
        huggingface_hub* telnetlib* xmlrpc* paramiko*
    """,
    Activity.LOCK: """
        threading thread queue sched concurrent multiprocessing.synchronize
        multiprocessing.queues multiprocessing.SemLock select selectors
        asyncio signal.pause signal.sigwait signal.sigwaitinfo signal.sigtimedwait fcntl.flock
        fcntl.lockf os.lockf joblib dask distributed ray celery zmq
    """,
    Activity.SLEEP: "time.sleep asyncio.sleep gevent.sleep",
    Activity.SUBPROCESS: """
        subprocess* _posixsubprocess* os.system* os.popen* os.wait os.waitpid os.waitid os.wait3
        os.wait4 os.fork os.forkpty os.posix_spawn os.posix_spawnp multiprocessing pexpect* sh
        pty* psutil.wait_procs psutil.Process.wait os.spawnv os.spawnl os.spawnvp
    """,
    Activity.GARBAGE_COLLECTION: "gc",
    Activity.MEMORY_MANAGEMENT: """
        copy* builtins.bytearray torch.cuda.empty_cache torch.cuda.memory*
        torch._C._cuda_emptyCache ctypes.memmove ctypes.memset ctypes.create_string_buffer
        ctypes.string_at ctypes.Array mmap.mmap.resize mmap.mmap.madvise cupy.cuda.memory
        torch.multiprocessing.reductions psutil
    """,
    Activity.SERIALIZATION: """
        pickle* _compat_pickle* json* marshal* struct* copyreg* cloudpickle* dill*
        joblib.hashing* msgpack* yaml* ujson* orjson* simplejson* toml* tomllib* tomli*
        plistlib* ast.literal_eval numpy.ndarray.tobytes numpy.ndarray.dump numpy.ndarray.dumps
        numpy.ndarray.tolist numpy.frombuffer torch.serialization* torch.save torch.load
        torch._C._save torch.storage* torch.package* flatbuffers* google.protobuf* google._upb*
        bson* cbor2* avro* srsly* multiprocessing.reduction* keras.src.saving* keras.saving*
        tensorflow.python.saved_model* tensorflow.python.checkpoint* flax.serialization* orbax*
        xdrlib* uuid* pprint* builtins.repr mpi4py.util.pkl5*
    """,
    Activity.COMPILING: """
        torch._dynamo* torch._inductor* torch.jit* torch.fx* torch.export* torch._export*
        triton* torch.utils.cpp_extension* torch._functorch._aot_autograd* numba.core*
        numba.np.ufunc.ufuncbuilder* numba.cuda.compiler* llvmlite* cffi* Cython* cython*
        pythran* distutils* setuptools* pybind11* weave* jax._src.compiler*
        jax._src.interpreters.mlir* jax._src.interpreters.partial_eval*
        jax._src.interpreters.pxla* jaxlib.mlir* tensorflow.python.autograph.pyct*
        tensorflow.python.autograph.converters* tensorflow.python.autograph.impl.conversion*
        tensorflow.python.eager.polymorphic_function.tracing_compilation._create_concrete_function*
        tensorflow.python.framework.func_graph.func_graph_from_py_func*
        tensorflow.python.framework.func_graph.FuncGraph._create_op_internal*
        theano.compile* pytensor.compile*
        builtins.compile builtins.exec builtins.eval ast* dis* tokenize* symtable*
        cupy.cuda.compiler* codeop* py_compile* compileall*
    """,
    Activity.IMPORTING: """
        importlib* _frozen_importlib* _frozen_importlib_external* imp* zipimport* pkgutil*
        builtins.__import__* runpy pkg_resources* site*
    """,
    Activity.LOGGING: """
        logging* builtins.print* sys.stdout* sys.stderr* warnings* tqdm* rich*
        loguru* structlog* absl.logging* syslog* progressbar* progress* alive_progress*
        colorama* click* curses* tensorboard* tensorboardX* torch.utils.tensorboard* wandb*
        mlflow* comet_ml* neptune* aim* clearml* tensorflow.python.summary*
        tensorflow.python.ops.summary_ops_v2* keras.src.utils.progbar* keras.src.utils.io_utils*
        tf_keras.src.utils.generic_utils* tf_keras.src.utils.io_utils* matplotlib* seaborn*
        plotly* bokeh* readline* getpass* cmd* numpy._core.arrayprint* numpy.core.arrayprint*
    """,
    Activity.DEBUGGING: """
        traceback* pdb* bdb* tracemalloc* faulthandler* torch.autograd.anomaly_mode*
        torch.utils._traceback* torch.testing* numpy.testing*
    """,
    Activity.INTERPRETER: """
        builtins collections itertools functools heapq bisect operator types typing enum
        dataclasses contextlib abc numbers weakref inspect time datetime calendar zoneinfo sys
        sysconfig platform os.getpid os.environ os.getenv os.cpu_count os.times os.urandom
        posixpath.join posixpath.split posixpath.splitext posixpath.basename posixpath.dirname
        posixpath.normpath posixpath.isabs argparse configparser gettext locale getopt optparse
        __future__ atexit contextvars errno ctypes resource keyword reprlib graphlib code
        numpy.array+ numpy.asarray+ numpy.asanyarray+ numpy.fromiter+ torch.tensor+
        torch.as_tensor+ pandas*+ dask.dataframe*+ networkx*+
    """,
}
"""Modules, classes and functions by activity; `*`: what they have others do belongs to it, too.

`+`: where it is done for data that are read, and for batches of training, data are prepared."""

TRAINERS = frozenset(
    "torch tensorflow tf_keras keras jax jaxlib flax horovod sklearn xgboost lightgbm catboost "
    "paddle mxnet pytorch_lightning lightning".split()
)
"""Libraries that models are trained with."""

WAITED_FOR = {
    Activity.SUBPROCESS: "multiprocessing.pool",
    Activity.WORKERS: """
        multiprocessing.pool.ApplyResult multiprocessing.pool.AsyncResult
        multiprocessing.pool.MapResult multiprocessing.pool.IMapIterator multiprocessing.pool.get
        multiprocessing.pool.wait multiprocessing.pool.next multiprocessing.connection
        torch.multiprocessing.spawn joblib loky concurrent.futures.process dask distributed ray
    """,
    Activity.COMMUNICATION: "mpi4py.futures mpi4py.util.pool torch.distributed.rpc",
}
"""Modules, classes and functions that wait, in a lock or a sleep of the standard library, for what
is no thread. Workers that live on have the work done; a pool is also started and taken down."""

NEUTRAL = frozenset(
    "collections contextlib functools itertools operator types typing enum dataclasses abc _abc "
    "_collections_abc _functools _collections _operator builtins runpy time datetime sys numbers "
    "unittest bdb cProfile profile trace _bootlocale site decorator wrapt six "
    "line_profiler memory_profiler importlib.metadata weakref _weakrefset joblib.parallel "
    "torch._dynamo.eval_frame torch._dynamo.external_utils torch._dynamo.decorators "
    "torch._inductor.utils torch._inductor.output_code torch.utils._contextlib torch.jit._script "
    "torch._functorch._aot_autograd.runtime_wrappers torch._functorch._aot_autograd.utils "
    "torch.fx.graph_module torch.fx.traceback multiprocessing.process multiprocessing.popen_fork "
    "multiprocessing.spawn concurrent.futures.thread asyncio.events "
    "asyncio.base_events asyncio.runners numba.core.serialize numba.np.arrayobj".split()
)
"""Modules whose Python code only passes calls on: what calls them tells more than they do."""

METHODS: dict[Activity, str] = {
    Activity.COMMUNICATION: """
        Allreduce Bcast Reduce Gather Scatter Allgather Alltoall Barrier Send Recv Isend Irecv
        Sendrecv Wait Waitall Waitany Allgatherv Gatherv Scatterv Alltoallv Iallreduce Ibcast
        Ibarrier all_reduce all_gather reduce_scatter barrier broadcast Ssend Bsend
        Reduce_scatter Ireduce Win_create
    """,
    Activity.SERIALIZATION: """
        allreduce bcast allgather alltoall sendrecv isend irecv dumps loads tobytes to_bytes
        from_bytes frombytes SerializeToString ParseFromString state_dict load_state_dict
        model_dump_json to_json to_pickle
    """,
    Activity.DEVICE_WAIT: "synchronize block_until_ready",
    Activity.LOCK: "acquire notify_all wait_for",
    Activity.SUBPROCESS: "communicate waitpid",
    Activity.FILES: """
        read write close readline readlines readinto writelines fsync seek truncate tofile
        read_text write_text read_bytes write_bytes iterdir unlink mkdir rmdir exists is_file
        is_dir flush create_dataset executemany commit fetchall
    """,
    Activity.NETWORK: "sendall recvfrom recv_into accept getresponse urlopen connect",
    Activity.NUMERIC: """
        backward forward matmul dot einsum mean std sum argmax argmin cumsum reshape
        transpose zero_grad softmax log_softmax sigmoid tanh relu exp sqrt clip clamp norm
        astype ravel flatten add_ mul_ sub_ div_ copy_ addcmul_ addcdiv_ lerp_ zero_ fill_ dgemm
        matvec solve predict fit_transform partial_fit standard_normal normal uniform integers
        random permutation shuffle item cpu cuda numpy to unsqueeze squeeze view permute
        contiguous scatter_ index_select masked_fill inverse groupby+ argsort lexsort
        partition argpartition sort_values+
    """,
    Activity.TEXT: """
        split+ rsplit+ strip+ lstrip+ rstrip+ lower+ upper+ casefold+ replace+ startswith+
        endswith+ join+ encode+ decode+ format+ splitlines+ translate+ rpartition+ isalpha+
        isalnum+ isdigit+ title+ zfill+ find+ rfind+ findall+ finditer+ match+ search+ fullmatch+
        sub+ subn+ tokenize+ strptime+
    """,
    Activity.COMPRESSION: "compress",
    Activity.UNPACKING: "decompress",
    Activity.LOGGING: "info debug warning set_description set_postfix add_scalar",
    Activity.INTERPRETER: """
        append extend pop popleft appendleft items keys values setdefault insert remove add
        discard sort count index clear popitem most_common heappush heappop get update
    """,
}
"""Methods of an object of a kind that is not known: the kinds that most have one of that name."""

SYSTEM_CALLS: dict[Activity, str] = {
    Activity.FILES: """
        read write pread64 pwrite64 readv writev preadv pwritev open openat openat2 close stat
        lstat fstat newfstatat statx access faccessat faccessat2 getdents getdents64 unlink
        unlinkat rename renameat renameat2 mkdir mkdirat rmdir fsync fdatasync sync syncfs
        sync_file_range ftruncate fallocate sendfile splice copy_file_range io_getevents
        io_uring_enter lseek chmod fchmod link symlink readlink msync
    """,
    Activity.NETWORK: """
        socket connect accept accept4 sendto sendmsg sendmmsg recvfrom recvmsg recvmmsg
        read(socket) readv(socket) write(socket) writev(socket)
    """,
    Activity.LOCK: """
        futex poll ppoll select pselect6 epoll_wait epoll_pwait semop semtimedop msgrcv msgsnd
        mq_timedreceive rt_sigtimedwait pause rt_sigsuspend flock fcntl read(pipe) readv(pipe)
        write(pipe) writev(pipe)
    """,
    Activity.SLEEP: "nanosleep clock_nanosleep",
    Activity.SUBPROCESS: "wait4 waitid vfork execve clone clone3",
    Activity.MEMORY_MANAGEMENT: "mmap munmap mremap brk madvise mprotect mlock page_fault",
}
UNDECIDED_CALLS = frozenset({"futex", "poll", "ppoll", "select", "pselect6"})
"""System calls by which a library waits for threads and devices of its own: it tells first."""
