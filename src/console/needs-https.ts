// Message for remote clients that open the console over plain http.
//
// The page and the API return the same text.
export const NEEDS_HTTPS =
  "This page needs https, or http://localhost: over plain http from another machine a browser keeps nobody signed in. Nothing was changed, and a link stays good. Open the console through a proxy with TLS, or through an SSH tunnel as http://localhost.";
