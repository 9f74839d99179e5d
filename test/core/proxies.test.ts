import { afterEach, describe, expect, it } from "vitest";
import { failedProxy, rememberProxies } from "../../src/core/proxies.ts";

const https = "http://ada:pass-word@proxy.example:3128";
const http = "http://127.0.0.1:9";
afterEach(() => rememberProxies({ https: null, http: null, no: null }));

const failing = (facts: object, message = "") =>
  Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error(message), facts) });
const refused = (port: number) => failing({ syscall: "connect", code: "ECONNREFUSED", port });
const unknown = (hostname: string) => failing({ syscall: "getaddrinfo", code: "ENOTFOUND", hostname });
const late = failing({}, "Connect Timeout Error (attempted address: proxy.example:3128, timeout: 10000ms)");
const endpoint = new URL("https://api.example/v1");

describe("the proxy to which a connection failed", () => {
  it.each<[string, Error]>([
    ["refuses it", refused(3128)],
    ["refuses it everywhere", new TypeError("fetch failed", { cause: new AggregateError([refused(3128)]) })],
    ["has a name that nobody knows", unknown("proxy.example")],
    ["does not answer", late],
  ])("The proxy to which a connection failed is named without its password if it %s", (_, error) => {
    rememberProxies({ https, http, no: null });
    expect(failedProxy(error, endpoint)).toEqual({
      url: "http://proxy.example:3128",
      variable: "HTTPS_PROXY",
    });
  });

  it("The proxy to which a connection failed is the one for the scheme of the address", () => {
    rememberProxies({ https, http, no: null });
    expect(failedProxy(refused(9), new URL("http://localhost:11434/v1"))?.variable).toBe("HTTP_PROXY");
    rememberProxies({ https: null, http, no: null });
    expect(failedProxy(refused(9), endpoint)).toEqual({ url: http, variable: "HTTP_PROXY" });
    rememberProxies({ https, http: null, no: null });
    expect(failedProxy(refused(3128), new URL("http://localhost:11434/v1"))).toBeNull();
  });

  it.each<[string, Error]>([
    ["the endpoint itself, which NO_PROXY names, refused it", refused(443)],
    ["nobody knows the name of the endpoint", unknown("api.example")],
    ["there was a connection", failing({ code: "ECONNRESET", syscall: "read" })],
  ])("The proxy to which a connection failed is none if %s", (_, error) => {
    rememberProxies({ https, http, no: null });
    expect(failedProxy(error, endpoint)).toBeNull();
  });
});
