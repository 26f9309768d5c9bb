// Addresses of the service: the base URL of its links and the URL at which it listens.

export type ServiceAddress = {
  /** `server.public_url`, else the URL at which the service listens; no trailing slash. */
  baseUrl: () => string;
  /** The URL at which the service listens, without a trailing slash; empty until then. */
  ownUrl: () => string;
  listensAt: (url: string) => void;
};

/** @param configured `server.public_url`; empty for the URL at which the service listens */
export const createServiceAddress = (configured: string): ServiceAddress => {
  const publicUrl = configured.replace(/\/+$/, "");
  let ownUrl = "";
  return {
    baseUrl: () => (publicUrl === "" ? ownUrl : publicUrl),
    ownUrl: () => ownUrl,
    listensAt: (url) => {
      ownUrl = url;
    },
  };
};
