// src/<page>/ -> dist/<page>.html: style and script inside the page, not minified, so that what is committed can be read.
import { build } from "esbuild";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const read = (file) => readFileSync(file, "utf8");

/** `library` is a package whose style and licence go into the page, too. */
async function buildPage(name, library) {
  const bundle = await build({
    entryPoints: [`src/${name}/main.ts`],
    bundle: true,
    format: "iife",
    target: "es2020",
    charset: "utf8",
    write: false,
  });
  let script = bundle.outputFiles[0].text.replaceAll("</script", "<\\/script");
  let style = read(`src/${name}/style.css`);
  if (library) {
    script = `/*\n${library.name}:\n\n${read(library.license).trim()}\n*/\n${script}`;
    style = `${read(library.style).trim()}\n\n${style}`;
  }
  const page = read(`src/${name}/index.html`)
    .replace("/* style.css */", () => style)
    .replace("/* main.ts */", () => script);
  mkdirSync("dist", { recursive: true });
  writeFileSync(`dist/${name}.html`, page);
}

await buildPage("viewer");
await buildPage("chat");
await buildPage("report", {
  name: "uPlot",
  license: "node_modules/uplot/LICENSE",
  style: "node_modules/uplot/dist/uPlot.min.css",
});
