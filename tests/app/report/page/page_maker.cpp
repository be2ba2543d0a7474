/// Makes a page of a document that a test made up as JSON: page_maker DOCUMENT.json > page.html
#include <fstream>
#include <iostream>
#include <sstream>

#include "app/report/page/page.h"

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    std::ifstream file(argv[1]);
    std::stringstream json;
    json << file.rdbuf();
    std::cout << heapwood::app::page_of(json.str());
    return file && std::cout.flush() ? 0 : 1;
}
