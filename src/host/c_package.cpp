// Packages of ingot/ingot.h, listed without loading anything.
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "host/c_status.hpp"
#include "host/package.hpp"

using namespace ingot;

struct ingot_package {
  std::vector<std::string> models;
};

ingot_status ingot_package_open(const char* path, ingot_package** package) {
  return guarded([&] {
    require_place(package);
    INGOT_REQUIRE(path != nullptr, "the path is null");
    const QuietLog quiet;
    *package = new ingot_package{package_models(path)};
  });
}
void ingot_package_close(ingot_package* package) { delete package; }
size_t ingot_package_model_count(const ingot_package* package) { return package ? package->models.size() : 0; }
ingot_status ingot_package_model(const ingot_package* package, size_t k, const char** name) {
  return guarded([&] {
    require_place(name);
    INGOT_REQUIRE(package != nullptr, "the package is null");
    INGOT_REQUIRE(k < package->models.size(), "model ", k, ": there are ", package->models.size());
    *name = package->models[k].c_str();
  });
}
