// Whether the current page was reached by the Back or Forward button of the browser. Such a page keeps its place.
let isBack = false;
addEventListener("popstate", () => {
  isBack = true;
});
// wouter-preact reports its own navigation by this event.
addEventListener("pushState", () => {
  isBack = false;
});

export const wentBack = (): boolean => isBack;
