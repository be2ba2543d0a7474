/// Makes a page of results that a test made up: page_maker RESULTS.json > page.html
#include <fstream>
#include <iostream>
#include <sstream>

#include "app/report/html.h"

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    std::ifstream file(argv[1]);
    std::stringstream json;
    json << file.rdbuf();
    std::cout << heapwood::app::as_html(json.str());
    return file && std::cout.flush() ? 0 : 1;
}
