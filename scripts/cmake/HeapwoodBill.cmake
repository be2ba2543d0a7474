# The bill of materials: a CycloneDX document of the libraries that a build was made with.

# heapwood_bill(NAME VERSION [PURL HASH]): takes a library down. Without a PURL it is the system's
# package, whose hash is the distribution's affair. HASH is ALGORITHM=HEXADECIMAL, as CMake has it.
function(heapwood_bill name version)
    set(component "{\"type\": \"library\", \"name\": \"${name}\"")
    if(version)
        string(APPEND component ", \"version\": \"${version}\"")
    endif()
    if(ARGC GREATER 2)
        string(REGEX MATCH "^SHA([0-9]+)=([0-9a-f]+)$" matched "${ARGV3}")
        string(APPEND component ", \"purl\": \"${ARGV2}\", \"hashes\": [{\"alg\": \"SHA-${CMAKE_MATCH_1}\", "
            "\"content\": \"${CMAKE_MATCH_2}\"}]")
    endif()
    set_property(GLOBAL APPEND PROPERTY HEAPWOOD_BILL "${component}}")
endfunction()

# heapwood_write_bill(FILE): writes what was taken down, of this program.
function(heapwood_write_bill file)
    get_property(components GLOBAL PROPERTY HEAPWOOD_BILL)
    list(JOIN components ",\n    " components)
    file(CONFIGURE OUTPUT ${file} @ONLY CONTENT [[{
  "bomFormat": "CycloneDX",
  "specVersion": "1.5",
  "version": 1,
  "metadata": {
    "component": {
      "type": "application",
      "name": "heapwood",
      "version": "@PROJECT_VERSION@",
      "licenses": [{"license": {"id": "MIT"}}]
    }
  },
  "components": [
    @components@
  ]
}
]])
endfunction()
