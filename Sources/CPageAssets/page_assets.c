// The assembler copies the files into the program. As arrays of numbers in Swift, which `.embedInCode` makes of them, they
// would take a minute to compile.
#include "page_assets.h"

// The compiler lists the files in a condition among those that this one depends on.
#if !(__has_include("app.css") && __has_include("app.js") && __has_include("attitude.js") && __has_include("board.js") \
    && __has_include("boards.js") && __has_include("bulk.js") && __has_include("commands.js") && __has_include("compass.js") \
    && __has_include("gestures.js") && __has_include("history.js") && __has_include("icon.svg") \
    && __has_include("index.html") && __has_include("learning.js") && __has_include("login.html") && __has_include("login.js") \
    && __has_include("machine.js") \
    && __has_include("panel.css") && __has_include("plots.js") && __has_include("pose.js") && __has_include("recording.js") \
    && __has_include("settings.js") && __has_include("spectrum.js") && __has_include("sphere.js") && __has_include("text.js") && __has_include("theme.js") \
    && __has_include("timeline.js") && __has_include("verdicts.js"))
#error "a file of the web page is missing in Assets"
#endif

#define FILES(X) \
    X(app_css, "app.css") \
    X(app_js, "app.js") \
    X(attitude_js, "attitude.js") \
    X(board_js, "board.js") \
    X(boards_js, "boards.js") \
    X(bulk_js, "bulk.js") \
    X(commands_js, "commands.js") \
    X(compass_js, "compass.js") \
    X(gestures_js, "gestures.js") \
    X(history_js, "history.js") \
    X(icon_svg, "icon.svg") \
    X(index_html, "index.html") \
    X(learning_js, "learning.js") \
    X(login_html, "login.html") \
    X(login_js, "login.js") \
    X(machine_js, "machine.js") \
    X(panel_css, "panel.css") \
    X(plots_js, "plots.js") \
    X(pose_js, "pose.js") \
    X(recording_js, "recording.js") \
    X(settings_js, "settings.js") \
    X(spectrum_js, "spectrum.js") \
    X(sphere_js, "sphere.js") \
    X(text_js, "text.js") \
    X(theme_js, "theme.js") \
    X(timeline_js, "timeline.js") \
    X(verdicts_js, "verdicts.js")

#define COPY(symbol, file) \
    __asm__(".pushsection .rodata\n" \
            "page_asset_" #symbol ": .incbin \"" file "\"\n" \
            "page_asset_" #symbol "_end:\n" \
            ".popsection\n"); \
    extern const unsigned char symbol[] __asm__("page_asset_" #symbol); \
    extern const unsigned char symbol##_end[] __asm__("page_asset_" #symbol "_end");
FILES(COPY)

#define ENTRY(symbol, file) {file, symbol, symbol##_end},
static const struct page_asset files[] = {FILES(ENTRY)};
const struct page_asset *const page_assets = files;
const size_t page_asset_count = sizeof files / sizeof files[0];
