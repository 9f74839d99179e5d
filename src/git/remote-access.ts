import { AppError } from "../errors.ts";

/** How git speaks with a server: it follows no redirect, and does not wait for ever. */
export const httpConfig = [
  // git would take the header along to wherever it is sent (tried: to another host, too).
  ["http.followRedirects", "false"],
  ["http.lowSpeedLimit", "1000"],
  ["http.lowSpeedTime", "60"],
] as const;

/**
 * The configuration that has git send a header to the server of a URL, and to no other.
 *
 * @param authorization value of the Authorization header; null sends none
 */
export function authorizationConfig(
  url: string,
  authorization: string | null,
): (readonly [string, string])[] {
  if (authorization === null) return [];
  if (/[\r\n]/.test(authorization)) throw new AppError("usage", "An Authorization header has one line");
  return [[`http.${new URL(url).origin}/.extraHeader`, `Authorization: ${authorization}`]];
}

/** Everything in which the credential could show: the header, what it is made of, and what that decodes to. */
export function secretsOf(authorization: string | null): string[] {
  if (authorization === null) return [];
  const value = authorization.split(" ").at(-1) ?? "";
  const decoded = Buffer.from(value, "base64").toString("utf8");
  return [authorization, value, decoded, decoded.slice(decoded.indexOf(":") + 1)];
}
