// Puts the reader's own address and key into the programs of a guide. Nothing is stored or sent.
const URL_PLACEHOLDER = "http://127.0.0.1:8080";
const KEY_PLACEHOLDER = "gr_test_…";
const url = document.getElementById("reader-url");
const key = document.getElementById("reader-key");
const programs = [...document.querySelectorAll("pre code")].map((element) => ({ element, text: element.textContent }));

const show = () => {
  for (const { element, text } of programs)
    element.textContent = text
      .replaceAll(URL_PLACEHOLDER, url.value.trim().replace(/\/+$/, "") || URL_PLACEHOLDER)
      .replaceAll(KEY_PLACEHOLDER, key.value.trim() || KEY_PLACEHOLDER);
};
url.value = location.origin;
url.addEventListener("input", show);
key.addEventListener("input", show);
key.form.addEventListener("submit", (event) => event.preventDefault());
show();

for (const { element } of programs) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  const report = (text) => {
    button.textContent = text;
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2000);
  };
  // Without https, browsers offer no clipboard; the text is selected instead.
  const select = () => {
    getSelection().selectAllChildren(element);
    report("Selected");
  };
  button.addEventListener("click", () => {
    if (navigator.clipboard) navigator.clipboard.writeText(element.textContent).then(() => report("Copied"), select);
    else select();
  });
  const frame = document.createElement("div");
  frame.className = "program";
  element.parentElement.replaceWith(frame);
  frame.append(button, element.parentElement);
}
