-- Tried with Lmod 8.6. Copy to MODULEPATH/perfscope/0.1.0.lua and set `root`.
help([[Where the time, memory and threads of a multi-rank training job went, and why:
perfscope run -- srun python train.py; perfscope analyze trace/]])
whatis("Name: perfscope")
whatis("Version: 0.1.0")
whatis("Category: performance tools")

local root = "/shared/perfscope"

-- Only the command: the job keeps its own Python. It stands behind what the user has in PATH.
append_path("PATH", pathJoin(root, "bin"))
setenv("PERFSCOPE_ROOT", root)
