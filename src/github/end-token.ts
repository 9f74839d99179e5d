import { endingReach } from "./reaches.ts";
import { createTransport } from "./transport.ts";

export interface EndTokenOptions {
  /** Root of the REST API. */
  apiUrl: string;
  userAgent: string;
  /** For the request. Default 5 s. */
  timeoutMs?: number;
}

/**
 * Has GitHub forget a token of an installation before its hour is over. Asked once, apart from all pacing: nobody shall wait
 * for it, and a token that stays ends by itself. Rejects where GitHub gave no answer.
 */
export async function endToken(token: string, options: EndTokenOptions): Promise<void> {
  const { apiUrl: baseUrl, userAgent, timeoutMs = 5_000 } = options;
  const send = createTransport({ baseUrl, reach: endingReach, timeoutMs });
  await send(`${baseUrl}/installation/token`, {
    method: "DELETE",
    headers: {
      authorization: `Bearer ${token}`,
      accept: "application/vnd.github+json",
      "x-github-api-version": "2022-11-28",
      "user-agent": userAgent,
    },
  });
}
