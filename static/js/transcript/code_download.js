// A block of code as a file.

// Extensions, each with the names of its language besides; code in any other is saved as text.

import { make } from "../base/dom.js";

const LANGUAGES = `c, clj clojure, cpp c++, cs csharp c#, css, csv, dart, diff patch, erl erlang, ex elixir,
  fs fsharp, go, graphql, hs haskell, html, java, jl julia, js javascript, json, jsx, kt kotlin, lua,
  m objective-c, md markdown, mk makefile, mmd mermaid, php, pl perl, proto protobuf, ps1 powershell,
  py python python3, r, rb ruby, rs rust, rst, scala, scss, sh bash shell zsh, sol solidity,
  sql mysql postgresql, svg, swift, tex latex, tf terraform hcl, toml, ts typescript, tsx, xml, yaml yml,
  zig`;
const EXTENSIONS = new Map(
  LANGUAGES.split(",").flatMap((line) => {
    const names = line.trim().split(" ");
    return names.map((name) => [name, names[0]]);
  }),
);

/** Save a text under a name that fits its language. */
export function download(code, language) {
  const url = URL.createObjectURL(new Blob([code], { type: "text/plain" }));
  make("a", { href: url, download: `code.${EXTENSIONS.get(language) ?? "txt"}` }).click();
  setTimeout(() => URL.revokeObjectURL(url));
}
