import { expect, it } from "vitest";
import { startSharedApp } from "../e2e/shared-app.ts";

const canary = (file: string) => `canary-${file}-3f9c`;
const key = (file: string) => Array.from({ length: 20 }, (_, at) => `${canary(file)}-${at}\n`).join("");

const reading = [
  ...["docs/key.txt", "docs/same.txt", "docs/copy.txt", "Secrets/other.txt", "secrets/key.txt"].flatMap(
    (file_path) => [
      ...["head", "base", "merge_base"].map((ref) => ({
        name: "read_file_part",
        arguments: { file_path, ref },
      })),
      { name: "diff_file", arguments: { file_path } },
    ],
  ),
  { name: "search_in_files", arguments: { pattern: "canary", context_lines: 2 } },
  { name: "changed_files", arguments: {} },
];
const finish = { name: "finish_review", arguments: { summary: "Nothing here." } };

it("private-text: A renamed, copied or respelled private file is not shown to the model, and is not called read", async () => {
  await using shared = await startSharedApp({
    everyRole: ({ messages }) => ({
      tool_calls: messages.some(({ role }) => role === "assistant") ? [finish] : reading,
    }),
  });
  const { app } = shared;
  const repository = shared.addRepository({
    ".github/hunkwise.yml": "paths:\n  private: ['secrets/**']\n",
    ...{ "a.js": "a();\n", "secrets/key.txt": key("key"), "secrets/same.txt": key("same") },
    ...{ "secrets/copy.txt": key("copy"), "Secrets/other.txt": key("other") },
  });
  const pull = repository.open({
    ...{ "a.js": "b();\n", "secrets/key.txt": null, "docs/key.txt": `${key("key")}edited\n` },
    ...{ "secrets/same.txt": null, "docs/same.txt": key("same"), "docs/copy.txt": key("copy") },
  });
  await pull.deliver("opened");
  await pull.concluded();
  const requests = app.model?.requests.map(({ body }) => JSON.stringify(body)).join("\n") ?? "";
  expect(requests).toContain("b();");
  expect(["key", "same", "copy", "other"].filter((file) => requests.includes(canary(file)))).toEqual([]);
  expect(pull.check()?.conclusion).toBe("neutral");
  expect(pull.summary()).toContain("text of a private file");
});
