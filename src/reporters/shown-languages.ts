/**
 * Names that a block of code may carry, for its colours. Of some names GitHub makes a diagram, a map, a formula or a button, and it
 * may of more one day, so that any other name is left out.
 */
export const shownLanguages: ReadonlySet<string> = new Set(
  [
    "ada asm astro awk bash bat batch c c# c++ clj clojure cmake coffee console cpp cs csharp css csv cuda cxx d dart diff",
    "docker dockerfile dotenv elixir elm env erb erlang ex exs f# fish fortran fs fsharp gitignore glsl go golang gql gradle",
    "graphql groovy h haml handlebars haskell hbs hcl hpp hs html http ini java javascript jinja jl js json json5 jsonc jsonl",
    "jsx julia kotlin kt kts latex less lisp log lua make makefile markdown matlab md mdx nginx nim nix objc objective-c ocaml",
    "pascal patch perl php pl plaintext plsql powershell prisma prolog properties proto protobuf ps1 pug py py3 python python3",
    "r racket razor rb regex rs rst ruby rust sass scala scheme scss sh shell solidity sql svelte svg swift tcl terraform tex",
    "text tf toml ts tsx twig txt typescript vb vbnet verilog vhdl vim vue wasm wat xml yaml yml zig zsh",
  ].flatMap((line) => line.split(" ")),
);
