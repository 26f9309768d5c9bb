// Replaces the plain reference by Scalar, without features that contact other hosts, and fixes its keyboard accessibility.
document.querySelector(".static").remove();
Scalar.createApiReference("#reference", {
  url: "/openapi.json",
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: "",
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: "never",
  persistAuth: false,
  defaultOpenAllTags: true,
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
});

const repair = () => {
  // Scalar hides the name of these buttons from screen readers together with their visible text.
  for (const button of document.querySelectorAll(".scalar-code-copy:not([aria-label])"))
    button.setAttribute("aria-label", "Copy");
  // The list scrolls sideways on a small screen and would not be reachable by keyboard.
  for (const list of document.querySelectorAll("ul.endpoints:not([tabindex])")) list.tabIndex = 0;
};
new MutationObserver(repair).observe(document.getElementById("reference"), { childList: true, subtree: true });
