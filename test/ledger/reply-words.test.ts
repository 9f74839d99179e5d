import { describe, expect, it } from "vitest";
import { acknowledges, asks, dismisses } from "../../src/ledger/reply-words.ts";

/** Replies between bars or on lines of their own, with `\n` for the end of a line and `\t` for a tab. */
const listed = ({ raw }: TemplateStringsArray) =>
  raw
    .join("")
    .trim()
    .split(/ \| |\s*\n\s*/)
    .map((reply) => reply.replaceAll("\\n", "\n").replaceAll("\\t", "\t").replaceAll("\\`", "`"));

const dismissing = {
  "that it is not to be fixed": listed`
    won't fix | Won’t fix. | wontfix | WONTFIX! | **won't fix** | won't fix 👍 | @hunkwise won't fix
    will not fix | We will not fix this. | I won't fix it here, it is out of scope | not going to fix
    We're not going to fix this | I am not going to fix that now | This won't be fixed.
    It will not be fixed | Marked as won't fix | Closing as wontfix | Not fixing this
    we don't plan to fix this | Leave it as is. | Thanks, but we won't fix this | Legacy code: won't fix
    Won't fix because nobody uses it. | Legacy (won't fix), sorry | Won't fix, see the /ask above
  `,
  "that it is meant": listed`
    intended | Intended. | This is intended. | it's intended | That's intentional | is intended
    Intentional! | It was intended, see #12 | The missing check is intended.
    Yes, this is fully intentional. | No, this is intended. | No this is intended | on purpose
    I did this on purpose | We left it out on purpose. | by design | That is by design
    This is the intended behaviour | Intended behavior. | It's a deliberate choice.
    We deliberately skip it here | works as intended | This works as intended. | working as designed
    Works exactly as designed | behaves as expected | Hi @hunkwise, this is by design!
    As I said, intended. | I think this is intended | as designed | > Is this intended?\n\nYes, intended.
    It's intended (see the docs) | This isn't used yet, it is by design.
    The lock is intentionally held here. | This is expected. | That's how it is supposed to work
    LGTM as is, this is intended | It is, of course, by design. | This (see #12) is intended
  `,
  "that it is no fault": listed`
    false positive | False positive. | This is a false positive | a false positive | false-positive
    Looks like a false positive | That's clearly a false positive, the lock is held
    I consider this a false positive | false alarm | not a bug | Not a bug. | It's not a bug
    This isn't a bug | It isn’t a bug | not really a bug | This is not a real problem | not an issue
    That's not an issue here | not a problem | This is not a problem for us | no issue here | No bug here.
    There is no problem here | I don't think this is a bug | I don't think that it's a problem.
    It's a feature, not a bug | It's ugly but not a bug
  `,
  "that it is accepted": listed`
    known limitation | This is a known limitation | It's a known and accepted limitation | accepted risk
    This is an accepted risk. | we accept this | We accept this risk | We can accept that risk
    Risk accepted | ignore this | Please ignore this. | you can ignore this one | dismiss | Dismissed.
    dismiss this | Dismissing this | I'm going to dismiss this | safe to ignore | Can be ignored
  `,
  "so in German": listed`
    gewollt | Das ist gewollt. | Das ist so gewollt | so gewollt | Absicht | Das ist Absicht! | Ist Absicht
    beabsichtigt | Das ist beabsichtigt | Das ist genau so beabsichtigt. | kein Fehler | Das ist kein Fehler
    Kein Bug | wird nicht behoben | Das wird nicht behoben. | Das wird hier nicht mehr gefixt
    Nein, das ist Absicht | Das haben wir mit Absicht so gemacht | Das ist ein Fehlalarm
    Funktioniert wie gewollt | Das bleibt so. | Das ist bewusst so gemacht | Kein Fehler, sondern Absicht.
    Bitte ignorieren | Ich glaube, das ist gewollt
  `,
  "among other sentences": listed`
    Thanks for looking! This is intended. | Hm. Not a bug.\n\nThe caller holds the lock.
    Is it? No, it's by design. | This is intended. Why would it be otherwise?
    We looked into it.\nWon't fix. | - not a bug\n- the caller checks | \`parse\` is intended
    I do not think so\n\nThis is intended | I do not think so\n \t\nThis is intended
    - I do not think so\n- This is intended | 1) I do not think so\n12) This is intended
    This is\nintended | What a find! But it is intended.
  `,
};

const others = {
  "that deny it": listed`
    this is not intended | This isn't intended. | not intended | was never intended
    That was certainly not intentional | not by design | This is not by design | It's not on purpose
    not a false positive | This is not a false positive. | I don't think this is a false positive
    I doubt that this is intended | I don't believe it is by design | This does not work as intended
    doesn't work as designed | no longer works as intended | It is neither intended nor safe
    We can't ignore this | Don't ignore this | Do not dismiss this | never ignore this
    not an accepted risk | This is not, I think, intended | This is not (as you say) intended
    anything but intended | It is not just a bug | I don't think that, all in all, this is intended
    This is no known limitation | I disagree that this is intended | This is not because it is by design
    There is no way this is intended | not only a bug but a hole | It is wrong to call this a false positive
    hardly intended | I don't think this is\na false positive
    It's by design that we fail, but the message is not intended
    The null is by design, yet the crash is not. | This breaks what was intended.
    That's not how it's supposed to work
  `,
  "that ask": listed`
    is this intended? | Is this intended | isn't this by design? | Intended? | By design? | won't fix?
    not a bug? | why do you think it is not a bug? | Why is this by design | Can this be ignored?
    Should I ignore this? | Could it be a false positive | How is this a false positive
    Can you confirm that this is intended? | Please confirm this is intended | Wasn't this intended
    Please check whether this is by design. | I wonder if this is intended
    Let me know if this is intended. | Explain why this is not a bug | What makes it a known limitation
  `,
  "that leave it open": listed`
    if this is intended, say so | If it's by design then document it | Won't fix unless somebody asks for it
    intended or not | Maybe this is intended | This might be by design | It could be a false positive
    Perhaps not a bug | It's not an issue anymore | I'm not sure this is intended
    This is only intended for tests | I thought this was by design | This should be intended
    It used to be by design | You say this is intended | The docs say it's not a bug | The rest is intended
    Assuming this is intended, all is well
  `,
  "that use the words for other things": listed`
    This is intended to run once | It is intended for callers | the intended behaviour is to return null
    The intended value is 5 | This won't fix the problem | That will not fix it
    Reverting it won't fix the leak | The parser will ignore this header | We use design by contract here
    by design patterns | The dialog is dismissed on click | dismiss the dialog first
    It lowers the false positive rate | It fails due to a known limitation of the parser
    No problem, I'll fix it | No problem! | There is no error handling here | An intentional leak
    We accept this header from clients | it is intended as a joke | /remember this is intended behaviour
    @hunkwise remember this is by design | /ask is it by design that it fails
  `,
  "that speak of a fix": listed`
    Fixed, now it works as intended | Fixed. Works as designed now. | Good catch! Not intended, will fix.
    I'll fix this, it's not by design | Not a bug per se, but we should fix it
    It's by design but I will change it | Not a problem, let me fix that | Fixed in abc123
  `,
  "without a word of it": listed`
    thanks | Good catch! | 👍 | done | ok | Will do. | Hm. | This is a bug. | I agree | intend | purpose
    design | /review | @hunkwise resolve | You are right. | … | ?!
  `,
  "where others are quoted": listed`
    > won't fix | \`won't fix\` | \`\`\`\nnot a bug\n\`\`\` | <!-- intended --> | \tby design
    > This is intended.\n\nI see a leak here. | See https://example.com/by-design/intended
    See http://example.com/by-design
    The comment is \`// by design\` | <!-- not a bug
  `,
  "so in German": listed`
    nicht gewollt | Das ist nicht gewollt | Das ist so nicht gewollt. | Das war nicht beabsichtigt
    keine Absicht | Das ist keine Absicht | Das ist nicht Absicht | Ist das gewollt? | Ist das so gewollt
    Ist das Absicht? | Wenn das gewollt ist, ok | Vielleicht ist das Absicht
    Ich glaube nicht, dass das gewollt ist | Ich bin nicht sicher, ob das Absicht ist
    Kein Problem, mache ich! | Das ist ein Fehler | Behoben, funktioniert jetzt wie gewollt
    Warum ist das kein Fehler
  `,
};

describe("a reply dismisses", () => {
  describe.each(Object.entries(dismissing))("where it says %s", (_what, replies) => {
    it.each(replies)("%j", (reply) => {
      expect(dismisses(reply)).toBe(true);
    });
  });
});

describe("a reply does not dismiss", () => {
  describe.each(Object.entries(others))("with words %s", (_what, replies) => {
    it.each(replies)("%j", (reply) => {
      expect(dismisses(reply)).toBe(false);
    });
  });
});

describe("a reply asks", () => {
  it.each(listed`
    why? | Why? | Why is this a bug | Is it? | And why is that? | What would happen with null?
    Thanks! But how would this fail? | How can this be null | how so? | What about the cache
    Where is it called | Which caller do you mean | Really? | ?? | Sure? | Can you show me the call
    could you explain this | would you look again | Please explain. | Explain | explain this | show me
    Please show an example | @hunkwise why? | Tell me more about it | I don't understand why this fails
    Does this also hold for 5? | Is this still there | Not sure. What happens on Windows? | > quoted\n\nWhy?
    Fixed in abc123, is it right now? | Is \`x\` null here? | See https://example.com/a?b=c: is it that?
    I moved it.\nWhy is it still flagged | (why?) | I moved it\nwhy is it still flagged | Like https://example.com/a? | Why? See above. | won't this crash | Warum?
    Wieso ist das ein Fehler | Kannst du das erklären | Bitte erkläre das | Wie kommt das
    Was passiert bei null? | Erklär mir das | Ist das noch aktuell | Und warum?
  `)("%j", (reply) => {
    expect(asks(reply)).toBe(true);
  });

  it.each(listed`
    thanks! | Thank you | fixed | Done. | good catch | will do | 👍 | Fixed in abc123 | ok? | OK? | ok
    Fixed, ok? | I fixed it. | Yes | No. | Agreed | won't fix | This is intended. | Makes sense
    Great, thanks! | nice | lgtm | What a catch! | When I ran it, it worked. | Which is fine. | How nice.
    Was fixed. | Was intended. | Is intended | Where possible, yes. | Did it. | Do it | Will do | > Why?
    \`why?\` | \`\`\`\nwhy?\n\`\`\` | <!-- why? --> | See https://example.com/why?because=x
    https://example.com/?q=why | a ?? b is used | a ? b : c is used | The value is null ? one : the other | x?.y | Someone asked why | I know how | wie besprochen
    Danke! | Erledigt | passt
  `)("not with %j", (reply) => {
    expect(asks(reply)).toBe(false);
  });

  it("whatever else it holds", () => {
    expect(asks(`${"x ".repeat(2_000)}?`)).toBe(true);
    expect(asks(`${"x ".repeat(2_000)}.`)).toBe(false);
  });
});

describe("a reply acknowledges", () => {
  it.each(listed`
    thanks! | Thank you. | Thanks for checking! | Great, thanks | 👍 | :+1: | 👍🏽 | Great 🎉 | ❤️ | ok | Good catch, fixed | Perfect. Thank you!
    LGTM | Confirmed, it works now. | Danke! | Thanks @hunkwise!
  `)("%j", (reply) => {
    expect(acknowledges(reply)).toBe(true);
  });

  it.each(listed`
    It is still there. | Thanks, but it is still there | Not fixed | fixed? | ok? | Thanks. Still broken.
    thanks\n> It fails. | \`\`\`\nError: it fails\n\`\`\` | \`why\` | No | 👎 | ❌ | :-1: | 2 | ... | 👍 but it is still there | 🎉 No. | It works on my machine only | That is no fix
  `)("not with %j", (reply) => {
    expect(acknowledges(reply)).toBe(false);
  });

  it("with few words alone", () => {
    expect(acknowledges("thanks ".repeat(10_000))).toBe(false);
  });
});

describe("a reply of nothing or of one endless word", () => {
  it.each(["", "x".repeat(70_000)].map((reply) => [reply.length, reply] as const))(
    "neither dismisses nor asks: %s characters",
    (_length, reply) => {
      expect([dismisses(reply), asks(reply)]).toEqual([false, false]);
    },
  );
});

describe("words without end", () => {
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
  ])("are read to their end: %s", (_what, body) => {
    expect(dismisses(body)).toBe(false);
    expect(typeof asks(body)).toBe("boolean");
  });

  it.each(["…"])("are gone through once, also where they are signs between words: %j", (sign) => {
    const sentences = `is ${sign.repeat(980 / sign.length)}x. `.repeat(66);
    // With a second look from each sign on, this would take minutes.
    for (let round = 0; round < 400; round += 1) {
      expect(dismisses(sentences)).toBe(false);
      expect(asks(sentences)).toBe(false);
    }
  });
});

describe("a reply that is too long to be a remark", () => {
  const filler = "It reads the list. ".repeat(300);

  it("dismisses nothing, for its end may take it back", () => {
    expect(dismisses("This is intended. It reads the list.")).toBe(true);
    expect(dismisses(`This is intended. ${filler}`)).toBe(false);
    expect(dismisses(`This is intended.\n\n${"> quoted\n".repeat(3_000)}`)).toBe(false);
  });

  it("counts without what it quotes", () => {
    expect(dismisses(`${"> quoted\n".repeat(1_000)}\nThis is intended.`)).toBe(true);
  });

  it("asks by its beginning alone", () => {
    expect(asks(`Why? ${filler}`)).toBe(true);
    expect(asks(`${filler} Why?`)).toBe(false);
  });
});
