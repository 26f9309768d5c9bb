// Message for remote clients that open the console over plain http.
//
// The page and the API return the same text.
export const NEEDS_HTTPS =
  "This page requires https or http://localhost: a browser does not keep a session over plain http from another machine. Nothing was changed, and a link stays valid. Open the console through a proxy with TLS, or through an SSH tunnel as http://localhost.";
