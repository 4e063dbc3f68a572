// The colours: those that were chosen at the foot of the page, or those of the system. This is no module, so that it runs
// before anything is drawn.
{
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    document.documentElement.dataset.theme = localStorage.getItem("theme") || (dark.matches ? "dark" : "light");
  };
  dark.addEventListener("change", apply);
  addEventListener("storage", apply);
  apply();
}
