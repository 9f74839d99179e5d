import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

/**
 * Who looks at the set-up page. Whoever completes it owns the bot, so from elsewhere it takes the key that the server
 * printed; a browser on this machine needs none.
 */
export function isLocal(request: IncomingMessage): boolean {
  const { headers, socket } = request;
  const address = (socket.remoteAddress ?? "").replace(/^::ffff:/, "");
  if (!(address.startsWith("127.") || address === "::1")) return false;
  // A proxy on this machine also connects from here, and gives itself away; the name keeps rebound domains out.
  const proxied = Object.keys(headers).some((name) =>
    /^(x-forwarded-|forwarded$|via$|x-real-ip$|cf-)/.test(name),
  );
  return !proxied && isLoopbackName(headers.host ?? "");
}

/** Scheme, host and port by which the visitor reached this server, a proxy in between taken into account. */
export function addressOf({ headers }: IncomingMessage): string | undefined {
  const scheme = first(headers, "x-forwarded-proto") ?? "http";
  const host = first(headers, "x-forwarded-host") ?? headers.host ?? "";
  const plain = /^https?$/.test(scheme) && /^([\w.-]+|\[[0-9a-f:]+\])(:\d{1,5})?$/i.test(host);
  return plain ? `${scheme}://${host}` : undefined;
}

/** Whether GitHub cannot reach this host, because it names the visitor's own machine. */
export function isLoopbackName(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i.test(host);
}

function first(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value.split(",")[0]?.trim() : undefined;
}

/** The value of a cookie. */
export function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  const pairs = (headers.cookie ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}
