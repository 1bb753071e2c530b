# The viewer's page within the program: web/make bundles it and writes it as C. It needs node and npm; without
# them, or with TENON_PAGE=OFF, the program is built without a page and says so when one is asked for.
find_program(TENON_NODE node)
find_program(TENON_NPM npm)
set(page_found OFF)
if(TENON_NODE AND TENON_NPM AND PROJECT_IS_TOP_LEVEL)
    set(page_found ON)
endif()
option(TENON_PAGE "The viewer's page within the program; needs node and npm" ${page_found})

set(page_dir "${PROJECT_BINARY_DIR}/page")
if(TENON_PAGE)
    file(GLOB_RECURSE page_sources CONFIGURE_DEPENDS web/src/* web/wasm/*.ts)
    add_custom_command(OUTPUT "${page_dir}/viewer_page.c"
        COMMAND "${PROJECT_SOURCE_DIR}/web/make" "${page_dir}"
        DEPENDS ${page_sources} web/make web/build.mjs web/package-lock.json
        COMMENT "Bundling the viewer's page" VERBATIM)
else()
    file(WRITE "${page_dir}/viewer_page.c" "#include \"viewer_page.h\"\n"
        "const char* const tnc_page_head[] = {0};\nconst char* const tnc_page_tail[] = {0};\n")
endif()
target_sources(tenon_cli PRIVATE "${page_dir}/viewer_page.c")
