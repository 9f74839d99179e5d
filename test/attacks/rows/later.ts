import { at, here, type Listed } from "./row.ts";

/** What comes after that. */
export const later: readonly Listed[] = [
  {
    name: "stop-under-load",
    attack: "SIGTERM while jobs run",
    expected: "They are handed back, the process ends in time, and the next one goes on",
    provenBy: [
      at("queue/worker", "aborts what runs and hands it back at once without counting the attempt"),
      at(
        "e2e/operating",
        "stops, dies, starts and loses its database for a while, and pays for no turn twice",
      ),
      at("cli/serve", "answers where there is an App, works in the same process, and drains on SIGTERM"),
    ],
  },
  {
    name: "full-disk",
    attack: "A full disk, a locked database, a clock that jumps",
    expected: "Not ready, nothing lost, and it goes on by itself",
    provenBy: [
      here("clock"),
      at(
        "git/disk/full-disk",
        "gives an error that is tried again, and the next attempt begins where nothing is half done",
      ),
      at("webhooks/health", "is ready again by itself, and says both once"),
      at(
        "queue/sqlite-database",
        "Whoever waits for a locked file too long is told so, all of a line at the same time, and may try again",
      ),
      at(
        "queue/worker-faults",
        "is waited for: what was paid is on record once, and the job ends as if nothing had been",
      ),
    ],
  },
  {
    name: "out-of-order",
    attack: "The webhook of an older push comes after the newer one's",
    expected: "The newest head is reviewed, once",
    provenBy: [
      here("deliveries"),
      at("e2e/check-runs", "that come twice and out of order lead to one review of the newest head"),
    ],
  },
  {
    name: "unknown-events",
    attack: "Events and actions that nobody knows, without a body, an author or an installation",
    expected: "Answered with 2xx, and nothing happens",
    provenBy: [
      here("webhooks"),
      at(
        "webhooks/decide",
        "of the examples with any one field taken away, nulled or twisted is decided without failing",
      ),
    ],
  },
  {
    name: "renamed-repository",
    attack: "Redirects after a rename, an enterprise server, links of a list to another host",
    expected: "Followed on the same host alone",
    provenBy: [
      at("github/client", "is followed on GitHub itself, with the token"),
      at("github/client", "does not follow a link to another host"),
      at("github/client", "works below the path of an enterprise server"),
    ],
  },
  {
    name: "oversized-payload",
    attack: "Payloads beyond 25 MB, sent drop by drop, compressed, or as another type",
    expected: "Refused with 413, 408 or 415",
    provenBy: [here("web-server")],
  },
  {
    name: "yaml-bombs",
    attack: "Configuration that unfolds, with wrong types and huge globs",
    expected: "The defaults, and one word about it",
    provenBy: [here("patterns")],
  },
  {
    name: "leaks",
    attack: "Hundreds of jobs with random faults",
    expected: "No folder, process or descriptor stays",
    provenBy: [
      at("git/many-faults", "leave no file, no descriptor, no work tree and no memory behind"),
      at("e2e/soak", "leave no more behind than the first hundred did"),
    ],
  },
  {
    name: "log-injection",
    attack: "Line feeds and escape sequences in titles, secrets in errors",
    expected: "One line of JSON, without them",
    provenBy: [here("secrets")],
  },
  {
    name: "ssrf",
    attack: "Addresses of the inner network in the pull request, the configuration and what the model says",
    expected: "Never asked: GitHub, git and the model alone are",
    provenBy: [here("egress")],
  },
  {
    name: "mcp-client",
    attack:
      "A client of `hunkwise mcp` that sends lines that are no message, one without an end, calls for other folders, or hundreds of them at once, and goes away in the middle",
    expected:
      "Errors that end nothing; a line without an end ends it; no file and no process is left, and no character that hides in a file reaches an agent unseen",
    provenBy: [
      at("cli/mcp-hostile", "goes on after lines that are no message, and says nothing but messages"),
      at("cli/mcp-hostile", "answers each hostile call with an error, and the next sound one as ever"),
      at("cli/mcp-hostile", "ends at a line without an end, saying so, and leaves nothing behind"),
      at(
        "cli/mcp-model",
        "ends with the request that asked for it: the model is hung up on, and nothing runs on",
      ),
      at("cli/mcp", "sees what hides in a file, in the text and in the data"),
    ],
  },
  {
    name: "slow-connections",
    attack: "A thousand connections that send a byte of a header or a body at a time",
    expected: "Deliveries and health checks are answered meanwhile, and the slowest connections end",
    provenBy: [here("web-server-reach")],
  },
  {
    name: "answer-bomb",
    attack: "A model's answer that unpacks to gigabytes, or whose JSON is all brackets, at any depth",
    expected: "It ends at a limit while it is read; the server takes less than 200 MB more, and goes on",
    provenBy: [
      here("outgrown"),
      at("egress", "ends where it is beyond a limit: %s"),
      at("egress", "an answer that unpacks to more than its limit is not unpacked further (%s)"),
    ],
  },
  {
    name: "outgrown-fetch",
    attack: "A fork whose history is larger than the disk limit",
    expected: "The fetch ends at the limit while it runs and leaves nothing; the check counts it as a limit",
    provenBy: [
      at(
        "jobs/checkout-pull",
        "outgrown-fetch: is refused while it is fetched, though the rest of it never arrives",
      ),
    ],
  },
  {
    name: "private-text",
    attack: "A private file renamed with an edit, copied, or under another spelling of its name",
    expected:
      "Its text is private under each name; code that has it is not read, and the review is not complete",
    provenBy: [
      here("private-text"),
      at(
        "process/private-text",
        "private-text: reaches no model under any name that it has, through no tool and no first message",
      ),
    ],
  },
  {
    name: "own-thread-resolved",
    attack:
      "An author who may only read moves the line of a finding, resolves the thread, and pushes something else",
    expected: "The finding stays open and the check red: only people with write access settle findings",
    provenBy: [here("who-decides")],
  },
  {
    name: "stranger-in-thread",
    attack: "A stranger writes in the thread of a finding",
    expected: "The finding is fixed when its code is mended, and its thread is answered and resolved",
    provenBy: [here("who-decides")],
  },
  {
    name: "undone-fix",
    attack: "Strangers deny that a finding is fixed, and the author opens its thread again",
    expected: "It stays fixed, because the code shows it",
    provenBy: [here("who-decides")],
  },
  {
    name: "flooded-dismissal",
    attack:
      "After a maintainer's dismissal, hundreds of replies and reactions of as many accounts, and the thread opened again",
    expected: "The dismissal holds: all pages are read, and a decision that was read once is remembered",
    provenBy: [here("who-decides")],
  },
  {
    name: "same-lines-elsewhere",
    attack: "A check is removed from a harmless function, and, once that was read, from another one instead",
    expected: "The same lines in another place are read again",
    provenBy: [here("read-before")],
  },
  {
    name: "comment-to-code",
    attack: "A call is read inside a comment, and then moved into a function",
    expected: "It is read again",
    provenBy: [here("read-before")],
  },
  {
    name: "harmless-part-gone",
    attack:
      "What makes the rest of a change harmless is read with it, and then taken away, which leaves no hunk",
    expected: "The rest is read again",
    provenBy: [here("read-before")],
  },
  {
    name: "moved-after-reading",
    attack: "A file is edited where it does nothing, and, once that was read, renamed to where it runs",
    expected: "It is read again",
    provenBy: [here("read-before")],
  },
  {
    name: "covered-check",
    attack:
      "Over a red check, another pull request of the same commit: a draft, one for a branch that is not reviewed, one whose title is ignored",
    expected:
      "The newest check of the commit is red, and says which pull request it comes from, until that one is closed",
    provenBy: [here("one-conclusion")],
  },
  {
    name: "retargeted",
    attack:
      "A pull request with a red check is given a base branch that is not reviewed, and its own one back",
    expected: "The check stays red",
    provenBy: [here("one-conclusion")],
  },
  {
    name: "pushed-to-ignored",
    attack: "Somebody else pushes to the branch of a bot that `ignore_authors` lists",
    expected: "The pull request is reviewed, even if the bot pushes again",
    provenBy: [
      here("one-conclusion"),
      at("jobs/skip-reason", "lets a pull request of an ignored author through %s"),
    ],
  },
  {
    name: "unread-commit",
    attack: "A draft of a commit, while the review of that commit goes on",
    expected: "The check goes on, too, until the review has ended",
    provenBy: [here("one-conclusion")],
  },
  {
    name: "changes-without-lines",
    attack:
      "A text renamed into a workflow, a source file that becomes a link, a submodule at another commit, a wrapper's jar replaced, a hook made executable: no diff shows a line",
    expected:
      "Each is named, and the check is not green; it is as red as findings where that is dangerous, and neutral for submodules and links within the repository",
    provenBy: [here("changes-without-lines")],
  },
  {
    name: "lock-sources",
    attack:
      "A lock file that takes a known package from another host, repository or registry, or another package under its name, or one from an archive or a folder of the change that nobody reads",
    expected: "The review names the place, and the check fails if findings make it fail",
    provenBy: [
      at(
        "attacks/changes-without-lines",
        "changes-without-lines: are named and are not green, and are as red as findings where they are dangerous",
      ),
      at("diff/lock-sources", "with a package from %s is unread"),
      at("diff/lock-sources", "of the name %s is unread with a new place, and only then"),
    ],
  },
  {
    name: "generated-in-effect",
    attack:
      "An edit by hand of a workflow or a package file that a tool generates, so that the base's attributes or its header call it generated",
    expected: "It is reviewed",
    provenBy: [
      here("changes-without-lines"),
      at(
        "diff/filter",
        "reviews what takes effect by itself, also if the base or its header calls it generated",
      ),
    ],
  },
  {
    name: "limit-reached",
    attack:
      "An author uses up a budget, or makes a change that is larger than a limit, so that it is not read",
    expected: "The check fails if findings make it fail, unless the configuration sets another conclusion",
    provenBy: [
      here("one-conclusion"),
      at("reporters/conclusions", "is red for what a limit left unread if findings are red"),
      at("reporters/conclusions", "limit-reached: counts a failure that a change can cause as a limit: %s"),
    ],
  },
  {
    name: "text-as-binary",
    attack:
      "A source file with a NUL and thousands of letters beyond ASCII, or control characters, in its first comment",
    expected:
      "The review is partial, and names the file: what has the name of a text, or is valid UTF-8, is no binary file",
    provenBy: [here("text-as-binary")],
  },
  {
    name: "hidden-line-ends",
    attack:
      "A U+2028, a lone carriage return or the like ends a comment, and code follows in what looks like it",
    expected:
      "Spelled out for the model and for people, and a finding, where the language takes it for a line end",
    provenBy: [
      here("hidden-characters"),
      at(
        "analyzers/hidden-characters",
        "with the line end that lets code follow a comment, and the one that ends a statement",
      ),
    ],
  },
];
