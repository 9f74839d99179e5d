import type { App, Repository } from "../support/github-double/model.ts";
import { type Net, stringsOf } from "./canaries.ts";
import type { Arrived } from "./traffic.ts";

/** A text that left the server, and how. */
export interface Said {
  where: string;
  text: string;
}

/**
 * Every text of requests, each once: conversations repeat what was said before. The authorization, which is the place of a
 * credential, is left out; `authorizations` holds those.
 */
export function sentBy(requests: readonly Arrived[]): Said[] {
  const known = new Set<string>();
  return requests.map(({ method, url, headers, body }) => {
    // The value alone: whatever else is the same stands where it does not belong.
    const others = headers.filter((_, at) => at % 2 === 0 || !/^authorization$/i.test(headers[at - 1] ?? ""));
    const texts = [...stringsOf([url, ...others, fromJson(body())])].filter((text) => !known.has(text));
    for (const text of texts) known.add(text);
    // One after the other, so that what was split over several is found as well.
    return { where: `${method} ${url}`, text: texts.join("\n") };
  });
}

/** A line of the log, or a body; as it is where it is no JSON. */
function fromJson(bytes: string): unknown {
  try {
    return JSON.parse(Buffer.from(bytes, "latin1").toString("utf8"));
  } catch {
    return bytes;
  }
}

/** Every line of a log, as it is written and as it is read. */
export const logged = (log: string): Said[] =>
  log.split("\n").map((line) => ({
    where: "log",
    text: [line, ...stringsOf(fromJson(Buffer.from(line).toString("latin1")))].join("\n"),
  }));

/** All that an App wrote into a repository, as it stands there. */
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

/** What of it holds a canary: "the database (hex) in GET /user". */
export function leaksIn(said: readonly Said[], net: Net): string[] {
  const leaks = said.flatMap(({ where, text }) =>
    net.find(text).map(({ name, form }) => `${name} (${form}) in ${where}`),
  );
  return [...new Set(leaks)];
}
