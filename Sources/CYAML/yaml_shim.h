// libyaml's event parser.
#ifndef JOSTLE_YAML_SHIM_H
#define JOSTLE_YAML_SHIM_H

#include <yaml.h>

#endif
