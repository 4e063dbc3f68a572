// The card with the history of a board. What it needs is loaded when it first comes into sight.
import { element } from "./text.js";

/** The card as one element, wherever it stands. */
export function historyCard(context) {
  const heading = element("h2", { id: "h-history", text: "History" });
  const root = element("section", { class: "card at-history", "aria-labelledby": heading.id }, heading);
  const sight = new IntersectionObserver(async (entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
    sight.disconnect();
    const { Timeline } = await import("./timeline.js");
    if (root.isConnected) new Timeline(root, context);
  });
  sight.observe(root);
  return root;
}
