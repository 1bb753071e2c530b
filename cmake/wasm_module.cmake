# The playground's module: a WASI reactor around the stage. Two GiB are all it may take of a page's memory.
add_executable(tenon_module web/wasm/module.c)
target_link_libraries(tenon_module PRIVATE tenon_stage tenon_scenes tenon)
target_link_options(tenon_module PRIVATE -mexec-model=reactor -Wl,--max-memory=2147483648)
set_target_properties(tenon_module PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
