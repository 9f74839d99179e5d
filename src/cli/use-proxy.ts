import http from "node:http";
import type { Env } from "../config/env.ts";
import { AppError } from "../core/errors.ts";
import { rememberProxies } from "../core/proxies.ts";

/** Sends this process's requests, `fetch` included, through the proxies of the environment. git gets them by itself. */
export function useProxy({ proxy }: Pick<Env, "proxy">): void {
  if (proxy.https === null && proxy.http === null) return;
  // Newer than the oldest Node this runs on.
  const setGlobalProxy: typeof http.setGlobalProxyFromEnv | undefined = http.setGlobalProxyFromEnv;
  if (setGlobalProxy === undefined) {
    throw new AppError("config_invalid", `Node ${process.versions.node} does not support HTTPS_PROXY`, {
      remedy: "Use a current Node 24, or unset HTTPS_PROXY and HTTP_PROXY.",
    });
  }
  rememberProxies(proxy);
  setGlobalProxy({
    ...(proxy.https === null ? {} : { https_proxy: proxy.https }),
    ...(proxy.http === null ? {} : { http_proxy: proxy.http }),
    ...(proxy.no === null ? {} : { no_proxy: proxy.no }),
  });
}
