// Starts Scalar with everything off that would ask another host, and mends what it leaves out for people without a mouse.
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

const mend = () => {
  // The name of these buttons is hidden from readers of the screen together with the letters that mice see.
  for (const button of document.querySelectorAll(".scalar-code-copy:not([aria-label])"))
    button.setAttribute("aria-label", "Copy");
  // Scrolls sideways on a small screen, where a keyboard could not reach it.
  for (const list of document.querySelectorAll("ul.endpoints:not([tabindex])")) list.tabIndex = 0;
};
new MutationObserver(mend).observe(document.getElementById("reference"), { childList: true, subtree: true });
