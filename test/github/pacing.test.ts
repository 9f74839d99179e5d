import { describe, expect, it } from "vitest";
import { createPacings } from "../../src/jobs/pacings.ts";
import { githubLimits, type Pace, type PaceLimits } from "../../src/queue/pace.ts";
import { failure } from "../support/failure.ts";
import { memoryNotes, memoryPace } from "../support/memory-pace.ts";
import { SimulatedTime } from "../support/simulated-time.ts";

const read = { kind: "read", creates: false, graphql: false } as const;
const edit = { kind: "write", creates: false, graphql: false } as const;
const creation = { kind: "write", creates: true, graphql: false } as const;
const query = { kind: "read", creates: false, graphql: true } as const;
const untold = { waitMs: undefined, stops: "everything" } as const;
const nothing = async () => {};

/** A database, and the processes on it; each has a pacing of its own. */
function processes(limits: PaceLimits = githubLimits, faults: Partial<Pace> = {}) {
  const time = new SimulatedTime(0);
  const stores = { pace: { ...memoryPace(time.now, limits), ...faults }, notes: memoryNotes() };
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const start = (installation = 1) =>
    createPacings({ stores, gapMs: limits.gapMs, clock: time, warn })(installation);
  return { time, start, warnings };
}

describe("writes of one installation", () => {
  it("begin a second apart, whichever process they are of", async () => {
    const { time, start } = processes();
    const begun: number[] = [];
    const note = async () => void begun.push(time.now());
    const [one, other] = [start(), start()];
    await time.run(Promise.all([one, other, one, other].map((pacing) => pacing.send(edit, note))));
    expect(begun).toEqual([0, 1_000, 2_000, 3_000]);
  });

  it("begin a second after the end of the last one that took longer", async () => {
    const { time, start } = processes();
    const pacing = start();
    const begun: number[] = [];
    const slow = async () => {
      begun.push(time.now());
      await time.sleep(5_000);
    };
    await time.run(Promise.all([pacing.send(edit, slow), pacing.send(edit, slow)]));
    await time.run(start().send(edit, slow));
    expect(begun).toEqual([0, 6_000, 12_000]);
  });

  it("follow each other at once where the operator wants no gap", async () => {
    const { time, start } = processes({ ...githubLimits, gapMs: 0 });
    const pacing = start();
    await time.run(Promise.all(Array.from({ length: 50 }, () => pacing.send(edit, nothing))));
    expect(time.now()).toBe(0);
  });

  it("do not hold up those of another", async () => {
    const { time, start } = processes();
    await start(1).refused(edit, { waitMs: 3_600_000, stops: "everything" });
    await start(2).send(creation, nothing);
    expect(time.now()).toBe(0);
  });

  it("that wait in turn can be called off, and stand in nobody's way", async () => {
    const { time, start } = processes();
    const pacing = start();
    const controller = new AbortController();
    const sent: string[] = [];
    const send = (name: string, signal?: AbortSignal) =>
      pacing.send(edit, async () => void sent.push(name), signal);
    const first = send("first");
    const second = send("second", controller.signal);
    const third = send("third");
    controller.abort(new Error("called off"));
    await expect(second).rejects.toThrow("called off");
    await time.run(Promise.all([first, third]));
    expect(sent).toEqual(["first", "third"]);
    expect(time.now()).toBe(1_000);
  });
});

describe("what makes content", () => {
  it("is made 80 times a minute by all processes together", async () => {
    const { time, start } = processes({ ...githubLimits, gapMs: 100 });
    const all = Array.from({ length: 81 }, () => start().send(creation, nothing));
    await time.run(Promise.all(all));
    expect(time.now()).toBe(60_000);
  });

  it("is made 500 times an hour, and then the job has to come back", async () => {
    const { time, start } = processes();
    const pacing = start();
    const fill = async () => {
      for (let made = 0; made < 500; made++) await pacing.send(creation, nothing);
    };
    await time.run(fill());
    expect(time.now()).toBe(499_000);
    let sent = false;
    const late = start().send(creation, async () => {
      sent = true;
    });
    expect(await failure(late)).toMatchObject({
      ...{ code: "github_rate_limited", retryable: true, retryAfterMs: 3_600_000 - 499_000 },
    });
    expect(sent).toBe(false);
    // An edit makes nothing.
    await time.run(pacing.send(edit, nothing));
    expect(time.now()).toBe(500_000);
  });
});

describe("a hold", () => {
  it("holds for other processes as well, and after a restart", async () => {
    const { time, start } = processes();
    await start().refused(read, { waitMs: 30_000, stops: "everything" });
    await time.run(start().send(read, nothing));
    expect(time.now()).toBe(30_000);
  });

  it("of more than a minute is for the job to come back after", async () => {
    const { start } = processes();
    await start().refused(edit, { waitMs: 2_400_000, stops: "everything" });
    for (const traffic of [read, edit, query])
      expect(await failure(start().send(traffic, nothing))).toMatchObject({ retryAfterMs: 2_400_000 });
  });

  it("begun while a write waits for its turn keeps it back", async () => {
    const { time, start } = processes();
    const [one, other] = [start(), start()];
    await time.run(one.send(edit, nothing));
    const late = other.send(edit, nothing);
    await one.refused(read, { waitMs: 20_000, stops: "everything" });
    await time.run(late);
    expect(time.now()).toBe(20_000);
  });

  it("of GraphQL's budget stops GraphQL alone", async () => {
    const { time, start } = processes();
    const pacing = start();
    await pacing.usedUp({ waitMs: 600_000, stops: "graphql" });
    await pacing.send(read, nothing);
    await time.run(pacing.send(creation, nothing));
    expect(await failure(pacing.send(query, nothing))).toMatchObject({ retryAfterMs: 600_000 });
  });
});

describe("a refusal that does not say when to come back", () => {
  it("is met by waits that double up to an hour, also by other processes and after restarts", async () => {
    const { time, start } = processes();
    const waits: number[] = [];
    for (let refusals = 0; refusals < 8; refusals++) {
      const wait = await start().refused(edit, untold);
      waits.push(wait / 60_000);
      await time.run(time.sleep(wait));
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  });

  it("counts once where several calls meet it together", async () => {
    const { time, start } = processes();
    const pacing = start();
    expect(await Promise.all([1, 2, 3].map(() => pacing.refused(read, untold)))).toEqual(
      Array(3).fill(60_000),
    );
    await time.run(time.sleep(60_000));
    expect(await start().refused(read, untold)).toBe(120_000);
  });

  it("is forgotten when such a call goes through, in whichever process", async () => {
    const { time, start } = processes();
    const [one, other] = [start(), start()];
    await time.run(other.send(edit, nothing));
    await one.refused(edit, untold);
    await time.run(other.send(edit, nothing));
    expect(await one.refused(edit, untold)).toBe(60_000);
  });

  it("of a write is not forgotten because reads go through", async () => {
    const { time, start } = processes();
    const pacing = start();
    await pacing.refused(edit, untold);
    await time.run(pacing.send(read, nothing));
    expect(await pacing.refused(edit, untold)).toBe(120_000);
  });
});

describe("a database that does not answer", () => {
  const down = () => Promise.reject(new Error("locked"));

  it("takes no answer of GitHub away, and this process keeps the gap all the same", async () => {
    const { time, start, warnings } = processes(githubLimits, { ended: down, heldUntil: down, hold: down });
    const pacing = start();
    const slow = async () => {
      await time.sleep(5_000);
      return "written";
    };
    expect(await time.run(pacing.send(edit, slow))).toBe("written");
    await time.run(pacing.send(edit, nothing));
    expect(time.now()).toBe(6_000);
    expect(warnings).toContain("The end of a write was not shared with other processes");
  });

  it("leaves reads and this process's own holds as they are", async () => {
    const { time, start } = processes(githubLimits, { heldUntil: down, hold: down });
    const pacing = start();
    await pacing.send(read, nothing);
    await pacing.refused(read, { waitMs: 10_000, stops: "everything" });
    await time.run(pacing.send(read, nothing));
    expect(time.now()).toBe(10_000);
  });

  it("lets nothing be written, and the job comes back", async () => {
    const { start } = processes(githubLimits, { reserve: down });
    let sent = false;
    const write = start().send(edit, async () => {
      sent = true;
    });
    expect(await failure(write)).toMatchObject({ code: "github_rate_limited", retryable: true });
    expect(sent).toBe(false);
  });
});
