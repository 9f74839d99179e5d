import type { App, Repository } from "../support/github-double/model.ts";
import { type Net, stringsOf } from "./canaries.ts";
import type { Arrived } from "./traffic.ts";

/** A text that left the server, and its channel. */
export interface Said {
  where: string;
  text: string;
}

/**
 * The distinct texts of requests: conversations repeat earlier messages. Omits the authorization header, the proper place of a credential;
 * `authorizations` holds those.
 */
export function sentBy(requests: readonly Arrived[]): Said[] {
  const known = new Set<string>();
  return requests.map(({ method, url, headers, body }) => {
    // Only the header's value: the same credential anywhere else is a leak.
    const others = headers.filter((_, at) => at % 2 === 0 || !/^authorization$/i.test(headers[at - 1] ?? ""));
    const texts = [...stringsOf([url, ...others, fromJson(body())])].filter((text) => !known.has(text));
    for (const text of texts) known.add(text);
    // Joined, so that values split over several texts are found too.
    return { where: `${method} ${url}`, text: texts.join("\n") };
  });
}

/** Parses a log line or a body; returns the text if it is not JSON. */
function fromJson(bytes: string): unknown {
  try {
    return JSON.parse(Buffer.from(bytes, "latin1").toString("utf8"));
  } catch {
    return bytes;
  }
}

/** Every line of a log, raw and parsed. */
export const logged = (log: string): Said[] =>
  log.split("\n").map((line) => ({
    where: "log",
    text: [line, ...stringsOf(fromJson(Buffer.from(line).toString("latin1")))].join("\n"),
  }));

/** All texts that an App wrote in a repository. */
export function writtenBy(app: App, { pulls, checkRuns }: Repository): Said[] {
  const on = [...pulls.values()];
  const comments = on.flatMap((pull) => [...pull.comments, ...pull.reviewComments, ...pull.reviews]);
  return [
    ...comments.filter(({ via }) => via === app).map(({ body }) => ({ where: "comment", text: body })),
    ...checkRuns.map(({ name, externalId, detailsUrl, output, annotations }) => ({
      where: "check run",
      text: [...stringsOf([name, externalId, detailsUrl, output, annotations])].join("\n"),
    })),
  ];
}

/** The leaks in these texts: "the database (hex) in GET /user". */
export function leaksIn(texts: readonly Said[], net: Net): string[] {
  const leaks = texts.flatMap(({ where, text }) =>
    net.find(text).map(({ name, form }) => `${name} (${form}) in ${where}`),
  );
  return [...new Set(leaks)];
}
