import type { Language } from "../languages.ts";
import type { Shape } from "../shape.ts";
import { c } from "./c.ts";
import { csharp } from "./csharp.ts";
import { go } from "./go.ts";
import { java } from "./java.ts";
import { javascript } from "./javascript.ts";
import { kotlin } from "./kotlin.ts";
import { php } from "./php.ts";
import { python } from "./python.ts";
import { ruby } from "./ruby.ts";
import { rust } from "./rust.ts";

/** C++ uses the tables of C, which include its additions. */
export const shapes: Record<Language, Shape> = {
  javascript,
  python,
  go,
  java,
  c,
  cpp: c,
  rust,
  ruby,
  kotlin,
  csharp,
  php,
};
