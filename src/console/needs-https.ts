// What is said to whoever opens the console over plain http from another machine; the page and the API say the same.
export const NEEDS_HTTPS =
  "This page needs https, or http://localhost: over plain http from another machine a browser keeps nobody signed in. Nothing was changed, and a link stays good. Open the console through a proxy with TLS, or through an SSH tunnel as http://localhost.";
