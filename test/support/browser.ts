/** A browser without script, for tests: it keeps the cookies of each host, and sends forms as a page of the server would. */
export class Browser {
  readonly cookies = new Map<string, string>();
  readonly origin: string;

  constructor(origin: string) {
    this.origin = origin;
  }

  /** Follows no redirect. */
  async get(path: string, headers: Record<string, string> = {}): Promise<Page> {
    return this.send("GET", path, { "sec-fetch-site": "none", ...headers });
  }

  post(
    path: string,
    fields: Record<string, string> = {},
    headers: Record<string, string> = {},
  ): Promise<Page> {
    const own = { origin: this.origin, "sec-fetch-site": "same-origin" };
    return this.send("POST", path, { ...own, ...headers }, new URLSearchParams(fields));
  }

  async send(
    method: string,
    path: string,
    headers: Record<string, string>,
    body: URLSearchParams | null = null,
  ): Promise<Page> {
    const cookie = [...this.cookies].map((pair) => pair.join("=")).join("; ");
    const response = await fetch(new URL(path, this.origin), {
      method,
      body,
      redirect: "manual",
      headers: { ...(cookie && { cookie }), ...headers },
    });
    for (const set of response.headers.getSetCookie()) this.#keep(set);
    const { status } = response;
    return {
      ...{ status, headers: response.headers, text: await response.text() },
      location: response.headers.get("location") ?? "",
      cookies: response.headers.getSetCookie(),
    };
  }

  #keep(set: string): void {
    const [pair = "", ...attributes] = set.split(/;\s*/);
    const [name = "", value = ""] = pair.split("=");
    if (attributes.some((one) => /^max-age=0$/i.test(one))) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }

  /** Begins a log-in; the address on GitHub to which it leads. */
  async beginLogin(to = "/"): Promise<URL> {
    const page = await this.post("/login", { to });
    return new URL(/^0; url=(.+)$/.exec(page.headers.get("refresh") ?? "")?.[1] ?? "");
  }

  /** Lets the App act for the person whose browser this is on GitHub; the path to which GitHub sends the browser back. */
  async authorize(address: URL, decision: "authorize" | "cancel" = "authorize"): Promise<string> {
    const body = new URLSearchParams({ decision });
    const response = await fetch(address, { method: "POST", body, redirect: "manual" });
    const back = new URL(response.headers.get("location") ?? "");
    return `${back.pathname}${back.search}`;
  }

  /** The whole log-in; the answer that ends it. */
  async login(to = "/"): Promise<Page> {
    return this.get(await this.authorize(await this.beginLogin(to)), { "sec-fetch-site": "cross-site" });
  }
}

export interface Page {
  status: number;
  headers: Headers;
  text: string;
  /** Of a redirect; empty if there is none. */
  location: string;
  /** As they were set. */
  cookies: string[];
}
