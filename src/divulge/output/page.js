"use strict";
// Each picture stands in the page as an image. Where scripts run, it is drawn anew with hover; where drawing fails, the image stays.
// `ast` has Vega walk through its expressions: no text of a table is ever run as a program.
function drawFigure(figure) {
  const image = figure.querySelector("img");
  const place = document.createElement("div");
  place.className = "drawn";
  figure.append(place);
  const options = {
    mode: "vega-lite", renderer: "svg", ast: true, actions: false, defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
  };
  const spec = JSON.parse(figure.querySelector("script").textContent);
  const room = figure.clientWidth;
  if (spec.title) { // above the drawing, where its lines break as the page is wide
    const lines = (part) => [spec.title[part] || []].flat().join(" ");
    const title = document.createElement("figcaption");
    const name = document.createElement("b");
    name.textContent = lines("text");
    title.append(name, document.createElement("br"), lines("subtitle"));
    figure.prepend(title);
    delete spec.title;
  }
  if (room < 480) spec.config.legend = { ...spec.config.legend, orient: "bottom", direction: "vertical", columns: 1 };
  if (!["hconcat", "vconcat", "concat", "facet", "repeat", "spec"].some((part) => part in spec)) {
    spec.width = "container"; // as wide as the page lets it be, with letters that keep their size
    spec.autosize = { type: "fit-x", contains: "padding" };
  } else if (spec.hconcat && room < 130 + 170 * spec.hconcat.length) { // panels below each other, each with the labels that the first one had for all
    spec.vconcat = spec.hconcat.map((panel) => ({ ...panel, width: room - 150 }));
    delete spec.hconcat;
    const label = (part) => { if (part.encoding?.y?.axis === null) delete part.encoding.y.axis; (part.layer || []).forEach(label); };
    spec.vconcat.forEach(label);
  }
  return vegaEmbed(place, spec, options).then(
    (drawn) => { place.firstElementChild.setAttribute("aria-label", figure.dataset.label); image?.remove(); return drawn; },
    () => { place.remove(); },
  );
}
for (const figure of document.querySelectorAll("figure.live")) drawFigure(figure);
