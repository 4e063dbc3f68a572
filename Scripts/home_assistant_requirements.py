"""Prints what Home Assistant's integrations need that Scripts/test-home-assistant loads.

usage: home_assistant_requirements.py ENVIRONMENT

Home Assistant installs the requirements of an integration when it loads it, but imports some integrations before. So the
requirements of everything that it imports or loads here are installed first.
"""

import ast
import json
import pathlib
import re
import sys

LISTS = {"DEFAULT_INTEGRATIONS", "CORE_INTEGRATIONS", "LOGGING_AND_HTTP_DEPS_INTEGRATIONS"}
LOADED = {
    "api", "auth", "automation", "binary_sensor", "blueprint", "button", "camera", "climate", "config",
    "device_automation", "diagnostics", "event", "http", "image", "light", "logger", "mqtt", "number",
    "persistent_notification", "recorder", "search", "select", "sensor", "switch", "system_log", "tag", "text", "trace",
    "update", "websocket_api",
}
# Only imported when it is used, and large or broken today.
SKIPPED = {"cloud", "recovery_mode", "stream"}

package = next(pathlib.Path(sys.argv[1]).glob("lib/python3*/site-packages/homeassistant"))
wanted = set(LOADED)
for node in ast.parse((package / "bootstrap.py").read_text()).body:
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    if isinstance(target, ast.Name) and target.id in LISTS:
        for part in ast.walk(node.value):
            if isinstance(part, ast.Constant) and re.fullmatch("[a-z_0-9]+", str(part.value)):
                wanted.add(part.value)

requirements, seen, queue = {"numpy", "PyTurboJPEG", "josepy<2"}, set(), sorted(wanted)
while queue:
    name = queue.pop()
    manifest = package / "components" / name / "manifest.json"
    if name in seen or name in SKIPPED or not manifest.exists():
        continue
    seen.add(name)
    content = json.loads(manifest.read_text())
    requirements.update(content.get("requirements", []))
    queue += content.get("dependencies", [])
print("\n".join(sorted(requirements)))
