import { describe, expect, it } from "vitest";
import { createGate } from "../../src/cli/mcp-server.ts";

/** Work that ends when it is told to, and what has begun. */
function pieces() {
  const begun: number[] = [];
  const ends = new Map<number, PromiseWithResolvers<void>>();
  const work = (name: number) => async () => {
    begun.push(name);
    const end = Promise.withResolvers<void>();
    ends.set(name, end);
    await end.promise;
    return name;
  };
  return {
    begun,
    work,
    end: (name: number) => ends.get(name)!.resolve(),
    fail: (name: number) => ends.get(name)!.reject(new Error("broken")),
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("the gate", () => {
  it("lets so many in at once, the others in the order in which they came", async () => {
    const { begun, work, end } = pieces();
    const gate = createGate(2);
    const all = [1, 2, 3, 4].map((name) => gate(work(name)));
    await turn();
    expect(begun).toEqual([1, 2]);
    end(2);
    await turn();
    expect(begun).toEqual([1, 2, 3]);
    end(1);
    await turn();
    expect(begun).toEqual([1, 2, 3, 4]);
    end(3);
    end(4);
    expect(await Promise.all(all)).toEqual([1, 2, 3, 4]);
  });

  it("gives the place of what failed to the next", async () => {
    const { begun, work, end, fail } = pieces();
    const gate = createGate(1);
    const [first, second] = [gate(work(1)), gate(work(2))];
    await turn();
    fail(1);
    await expect(first).rejects.toThrow("broken");
    await turn();
    expect(begun).toEqual([1, 2]);
    end(2);
    expect(await second).toBe(2);
  });

  it("is as wide as before once all have passed", async () => {
    const { begun, work, end } = pieces();
    const gate = createGate(1);
    for (const name of [1, 2]) {
      const passed = gate(work(name));
      await turn();
      end(name);
      await passed;
    }
    void gate(work(3));
    void gate(work(4));
    await turn();
    expect(begun).toEqual([1, 2, 3]);
    end(3);
    await turn();
    end(4);
  });
});
