"use strict";
// Each picture stands in the page as an image. Where scripts run, it is drawn anew with hover; where drawing fails, the image stays.
// `ast` has Vega walk through its expressions: no text of a table is ever run as a program.
for (const figure of document.querySelectorAll("figure.live")) {
  const image = figure.querySelector("img");
  const place = document.createElement("div");
  place.className = "drawn";
  image.after(place);
  const options = {
    mode: "vega-lite", renderer: "svg", ast: true, actions: false, defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
  };
  const spec = JSON.parse(figure.querySelector("script").textContent);
  if (!["hconcat", "vconcat", "concat", "facet", "repeat", "spec"].some((part) => part in spec)) {
    spec.width = "container"; // as wide as the page lets it be, with letters that keep their size
    spec.autosize = { type: "fit-x", contains: "padding" };
    if (figure.clientWidth < 480) { // no room for a title in the drawing, nor for a legend beside it
      const title = document.createElement("figcaption");
      title.textContent = image.alt;
      image.before(title);
      delete spec.title;
      spec.config = { ...spec.config, legend: { ...(spec.config || {}).legend, orient: "bottom", direction: "horizontal" } };
    }
  }
  vegaEmbed(place, spec, options).then(
    () => { place.firstElementChild.setAttribute("aria-label", image.alt); image.remove(); },
    () => place.remove(),
  );
}
