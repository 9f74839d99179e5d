import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { acknowledges, asks, dismisses } from "../../../src/pull/ledger/reply-words.ts";

/** Replies between bars or on lines of their own, with `\n` for the end of a line and `\t` for a tab. */
const listed = ({ raw }: TemplateStringsArray) =>
  raw
    .join("")
    .trim()
    .split(/ \| |\s*\n\s*/)
    .map((reply) => reply.replaceAll("\\n", "\n").replaceAll("\\t", "\t").replaceAll("\\`", "`"));

const phrases = listed`
  won't fix | by design | intended | intentional | works as intended | works as designed
  not a bug | not an issue | false positive | accepted risk
`;

describe("Replies that dismiss", () => {
  it.each([
    ...phrases,
    ...listed`
      Won’t fix. | wontfix | WONTFIX! | **won't fix** | won't fix 👍 | @hunkwise won't fix | will not fix
      Thanks, won't fix | Hi @hunkwise, this is by design! | false-positive
      This is intended. | That's intentional | it's not a bug | Yes, this is a false positive. | It is an accepted risk
      > Is this intended?\n\nYes, intended. | Won't fix, this is intended. | - not a bug | By design, sorry.
    `,
  ])("The reply %j dismisses", (reply) => {
    expect(dismisses(reply)).toBe(true);
  });

  it("A reply counts without what it quotes", () => {
    expect(dismisses(`${"> quoted\n".repeat(1_000)}\nThis is intended.`)).toBe(true);
  });
});

describe("Replies that do not dismiss", () => {
  it.each(listed`
    It's not a bug, it is a backdoor. Reject. | This is intentional sabotage. | This is by design. Rejected.
    This is by design, and the design is insecure. Remove it. | won't fix is not an option here
    wontfix is not acceptable | Works as designed is no excuse here | Who decided this is intended
    Risk accepted by nobody | Das ist Absicht: Sabotage. | by design 💀 | ~~by design~~ | "by design" | «not a bug»
    this is not intended | not by design | not a false positive | is this intended? | By design? | won't fix?
    if this is intended, say so | Maybe intended | No, this is by design that fails | intended or not
    Fixed, now it works as intended | thanks | 👍 | ok | /remember this is by design | /ask is it by design
    > won't fix | \`won't fix\` | \`\`\`\nnot a bug\n\`\`\` | <!-- intended --> | \tby design | by design \`not\`
    -     by design | - > by design | ~~~\nby design\n~~~ | <b>by design</b> | by design\n\n    or not | <!--\n> --> by design
    > This is intended.\n\nI see a leak here. | See https://example.com/by-design | by design <!-- or not -->
  `)("The reply %j does not dismiss", (reply) => {
    expect(dismisses(reply)).toBe(false);
  });

  it("A phrase with any other word before or after it does not dismiss", () => {
    const word = fc.stringMatching(/^[a-z]{2,12}$/).filter((one) => !isPolite.test(one));
    fc.assert(
      fc.property(fc.constantFrom(...phrases), word, fc.boolean(), (phrase, other, isFirst) => {
        expect(dismisses(isFirst ? `${other} ${phrase}` : `${phrase}. ${other}`)).toBe(false);
      }),
    );
  });
});

/** Words that change nothing about a phrase. */
const isPolite = /^(?:thanks|thx|sorry|please|yes|yep|ok|okay|hi|hello|this|that|it)$/;

describe("Replies that want an answer", () => {
  it.each(listed`
    why? | Why? | Why is this a bug | Is it? | And why is that? | What would happen with null?
    Thanks! But how would this fail? | How can this be null | how so? | What about the cache
    Where is it called | Which caller do you mean? | Really? | ?? | Sure? | Can you show me the call
    could you explain this | would you look again | Please explain. | Explain | explain this | show me
    Please show me an example | @hunkwise why? | Tell me more about it | I don't understand why this fails
    Does this also hold for 5? | Is this still there? | Not sure. What happens on Windows? | > quoted\n\nWhy?
    Fixed in abc123, is it right now? | Is \`x\` null here? | See https://example.com/a?b=c: is it that?
    I moved it.\nWhy is it still flagged | (why?) | I moved it\nwhy is it still flagged | Like https://example.com/a? | Why? See above. | won't this crash? | Warum?
    Was passiert bei null? | Und warum?
  `)("The reply %j wants an answer", (reply) => {
    expect(asks(reply)).toBe(true);
  });

  it.each(listed`
    thanks! | Thank you | fixed | Done. | good catch | will do | 👍 | Fixed in abc123 | ok? | OK? | ok
    Fixed, ok? | I fixed it. | Yes | No. | Agreed | won't fix | This is intended. | Makes sense
    Great, thanks! | nice | lgtm | What a catch! | When I ran it, it worked. | How nice.
    Was fixed. | Was intended. | Is intended | Where possible, yes. | Did it. | Do it | Will do | > Why?
    \`\`why \` why?\`\` | ~~~\nwhy?\n\nwhy? | Yes.\n\n    why? | <!-- why?\n\nwhy? | \`\`\`\n> x\n\`\`\`\n> Why? | Yes.\r\n> Why?
    \`why?\` | \`\`\`\nwhy?\n\`\`\` | <!-- why? --> | See https://example.com/why?because=x
    https://example.com/?q=why | a ?? b is used | a ? b : c is used | The value is null ? one : the other | x?.y | Someone asked why | I know how | wie besprochen
    Danke! | Erledigt | passt
  `)("The reply %j wants no answer", (reply) => {
    expect(asks(reply)).toBe(false);
  });

  it("A reply is judged by all of its first sentences", () => {
    expect(asks(`${"x ".repeat(2_000)}?`)).toBe(true);
    expect(asks(`${"x ".repeat(2_000)}.`)).toBe(false);
  });
});

describe("Replies that only acknowledge", () => {
  it.each(listed`
    thanks! | Thank you. | Thanks for checking! | Great, thanks | 👍 | :+1: | 👍🏽 | Great 🎉 | ❤️ | ok | Good catch, fixed | Perfect. Thank you!
    LGTM | Confirmed, it works now. | Danke! | Thanks @hunkwise!
  `)("The reply %j only acknowledges", (reply) => {
    expect(acknowledges(reply)).toBe(true);
  });

  it.each(listed`
    It is still there. | Thanks, but it is still there | Not fixed | fixed? | ok? | Thanks. Still broken.
    thanks\n> It fails. | \`\`\`\nError: it fails\n\`\`\` | \`why\` | No | 👎 | ❌ | :-1: | 2 | ... | 👍 but it is still there | 🎉 No. | It works on my machine only | That is no fix
  `)("The reply %j does more than acknowledge", (reply) => {
    expect(acknowledges(reply)).toBe(false);
  });

  it("Only a short reply acknowledges", () => {
    expect(acknowledges("thanks ".repeat(10_000))).toBe(false);
  });
});

describe("A reply without words, or with one endless word", () => {
  it.each(["", "x".repeat(70_000)].map((reply) => [reply.length, reply] as const))(
    "A reply of %s characters neither dismisses nor wants an answer",
    (_length, reply) => {
      expect([dismisses(reply), asks(reply)]).toEqual([false, false]);
    },
  );
});

describe("Endless replies", () => {
  it.each([
    ["question marks", `${"?".repeat(65_000)}x`],
    ["sentences", "a. ".repeat(21_000)],
    ["the same adverb", "is very ".repeat(8_000)],
    ["adverbs after a verb", `is ${"very ".repeat(13_000)}`],
    ["adverbs in sentences", `is ${"really ".repeat(130)}. `.repeat(70)],
    ["openings", "and but so ".repeat(6_000)],
    ["openings in sentences", `${"and ".repeat(240)}. `.repeat(65)],
    ["commas", ",".repeat(65_000)],
    ["commas in sentences", `${",;".repeat(490)}. `.repeat(65)],
    ["brackets", "(".repeat(65_000)],
    ["brackets in sentences", `${"(".repeat(990)}. `.repeat(65)],
    ["addresses", "http://... ".repeat(6_000)],
    ["names", "@a ".repeat(21_000)],
    ["signs", "…".repeat(21_000)],
    ["lines", "\n \n".repeat(21_000)],
    ["backticks of every length", Array.from({ length: 350 }, (_, at) => "`".repeat(at)).join(" ")],
    ["backticks of two lengths", "` ``".repeat(16_000)],
    ["one run of backticks", "`".repeat(65_000)],
    ["fences", "```\n``` x\n".repeat(6_000)],
    ["beginnings of comments", "<!-".repeat(20_000)],
    ["comments without an end", "<!-- ".repeat(13_000)],
  ])("An endless reply is read to its limit: %s", (_what, body) => {
    expect(dismisses(body)).toBe(false);
    expect(typeof asks(body)).toBe("boolean");
  });

  it.each(["…"])("An endless reply is scanned once, also with signs between words: %j", (sign) => {
    const sentences = `is ${sign.repeat(980 / sign.length)}x. `.repeat(66);
    // With a second look from each sign on, this would take minutes.
    for (let round = 0; round < 400; round += 1) {
      expect(dismisses(sentences)).toBe(false);
      expect(asks(sentences)).toBe(false);
    }
  });
});

describe("A reply that is too long to be a remark", () => {
  const filler = "It reads the list. ".repeat(300);

  it("A long reply wants an answer only by its beginning", () => {
    expect(asks(`Why? ${filler}`)).toBe(true);
    expect(asks(`${filler} Why?`)).toBe(false);
  });
});
