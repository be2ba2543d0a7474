# What is installed beside the program, and packages of both: `cpack` makes a .deb and a .tar.gz.
include(GNUInstallDirs)

# The manual page and the completions, which the program writes from its own command line.
set(manual "")
foreach(form man bash zsh fish)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/manual/heapwood.${form})
    add_custom_command(OUTPUT ${file}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/manual
        COMMAND heapwood --manual ${form} > ${file}
        DEPENDS heapwood VERBATIM)
    list(APPEND manual ${file})
endforeach()
add_custom_target(heapwood_manual ALL DEPENDS ${manual})

# The schemas of the verbs' JSON, which the program makes from the lists of their fields.
set(schemas "")
foreach(document build forest compare bench replay trace render inspect list)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/schemas/${document}.schema.json)
    add_custom_command(OUTPUT ${file}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/schemas
        COMMAND heapwood list --schema ${document} > ${file}
        DEPENDS heapwood VERBATIM)
    list(APPEND schemas ${file})
endforeach()
add_custom_target(heapwood_schemas ALL DEPENDS ${schemas})
install(FILES ${schemas} DESTINATION ${CMAKE_INSTALL_DATADIR}/heapwood/schemas COMPONENT program)

# heapwood_install_as(FOLDER NAME FILE)
function(heapwood_install_as folder name file)
    install(FILES ${file} DESTINATION ${folder} RENAME ${name} COMPONENT program)
endfunction()
set(manual ${CMAKE_CURRENT_BINARY_DIR}/manual/heapwood)
heapwood_install_as(${CMAKE_INSTALL_MANDIR}/man1 heapwood.1 ${manual}.man)
heapwood_install_as(${CMAKE_INSTALL_DATADIR}/bash-completion/completions heapwood ${manual}.bash)
heapwood_install_as(${CMAKE_INSTALL_DATADIR}/zsh/site-functions _heapwood ${manual}.zsh)
heapwood_install_as(${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d heapwood.fish ${manual}.fish)
if(HEAPWOOD_HAS_CUDA)
    heapwood_bill(cudart "${CMAKE_CUDA_COMPILER_VERSION}")
endif()
set(bill ${CMAKE_CURRENT_BINARY_DIR}/heapwood.cdx.json)
heapwood_write_bill(${bill})
heapwood_install_as(${CMAKE_INSTALL_DATADIR}/doc/heapwood heapwood.cdx.json ${bill})
heapwood_install_as(${CMAKE_INSTALL_DATADIR}/doc/heapwood copyright ${PROJECT_SOURCE_DIR}/LICENSE)

if(NOT PROJECT_IS_TOP_LEVEL)
    return()
endif()
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME heapwood)
set(CPACK_PACKAGE_CONTACT "The Heapwood authors")
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
# The program without the libraries, which are for those who build.
set(CPACK_COMPONENTS_ALL program)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON) # what the program is linked with that is not static
include(CPack)
