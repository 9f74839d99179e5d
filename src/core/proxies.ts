/** The proxies of this process; null for none. An https address without its own proxy uses the one for http. */
interface Proxies {
  https: string | null;
  http: string | null;
  /** Hosts that are reached without one, as in NO_PROXY. */
  no: string | null;
}

let inUse: Proxies = { https: null, http: null, no: null };

/** Remembers the proxies of requests, so that a proxy that is down is not mistaken for the server behind it. */
export function rememberProxies({ https, http, no }: Proxies): void {
  inUse = { https, http, no };
}

/**
 * The proxy for a connection; null if it is reached directly. NO_PROXY names hosts and domains (`.example.com`, `*.example.com`), each with or
 * without a port, or `*`, and no ranges of addresses.
 */
export function proxyFor(protocol: "https" | "http", hostname: string, port: number): URL | null {
  const proxy = URL.parse((protocol === "http" ? inUse.http : (inUse.https ?? inUse.http)) ?? "");
  const exceptions = (inUse.no ?? "").toLowerCase().split(/[\s,]+/);
  const isException = exceptions.some((one) => {
    const [, name = "", only] = /^(.*?)(?::(\d+))?$/.exec(one) ?? [];
    if (one === "*") return true;
    if (name === "" || (only !== undefined && Number(only) !== port)) return false;
    const domain = name.replace(/^\*(?=\.)/, "");
    return domain.startsWith(".") ? hostname.endsWith(domain) : hostname === domain;
  });
  return isException ? null : proxy;
}

/** The proxy that refused the connection on the way to `target`, without its credentials; null if `error` is about anything else. */
export function failedProxy(error: unknown, target: URL): { url: string; variable: string } | null {
  const isOwn = target.protocol === "http:" || inUse.https === null;
  const proxy = URL.parse((isOwn ? inUse.http : inUse.https) ?? "");
  if (!proxy) return null;
  const { hostname, port } = peerOf(error);
  const isPeer =
    hostname === undefined ? port === portOf(proxy) && port !== portOf(target) : hostname === proxy.hostname;
  return isPeer ? { url: proxy.origin, variable: isOwn ? "HTTP_PROXY" : "HTTPS_PROXY" } : null;
}

const portOf = ({ port, protocol }: URL) => Number(port || (protocol === "https:" ? 443 : 80));

/** Target of a failed connection: a host whose address was not found, or a port. Neither if there was a connection. */
function peerOf(error: unknown, depth = 0): { hostname?: string; port?: number } {
  if (!(error instanceof Error) || depth > 4) return {};
  const { syscall, hostname, port } = error as { syscall?: string; hostname?: string; port?: number };
  if (syscall === "getaddrinfo" && hostname !== undefined) return { hostname };
  if (syscall === "connect" && port !== undefined) return { port };
  // A time-out of undici reports the port only in its message.
  const [, tried] = /^Connect Timeout Error .*:(\d+), timeout/.exec(error.message) ?? [];
  if (tried !== undefined) return { port: Number(tried) };
  return peerOf(error instanceof AggregateError ? error.errors[0] : error.cause, depth + 1);
}
