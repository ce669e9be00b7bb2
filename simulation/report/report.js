// Draws the page's figures in the page's colours, and redraws them when the theme or a choice changes.
(() => {
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const narrow = window.matchMedia("(max-width: 560px)");
  const hidden = new Set();
  const slots = [...document.querySelectorAll(".figure")].map((element) => ({
    element, chosen: 0, variants: JSON.parse(document.getElementById(element.id + "-data").textContent),
  }));

  const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();

  function themed(figure, keyed) {
    const { data, layout } = structuredClone(figure);
    const ink = colour("soft"), grid = colour("grid");
    Object.assign(layout, { autosize: true, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" });
    layout.font = { ...layout.font, color: ink, size: narrow.matches ? 11 : 13 };
    layout.modebar = { bgcolor: "rgba(0,0,0,0)", color: ink, activecolor: colour("ink") };
    layout.hoverlabel = { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink") } };
    for (const name of Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key))) {
      Object.assign(layout[name], { gridcolor: grid, linecolor: grid, tickcolor: grid });
    }
    if (layout.coloraxis) {
      layout.coloraxis.colorscale = [0, 1, 2].map((stop) => [stop / 2, colour("scale-" + stop)]);
      if (narrow.matches) delete layout.coloraxis.colorbar.title;
    }
    if (keyed) layout.showlegend = false;
    for (const trace of data) if (keyed && hidden.has(trace.legendgroup)) trace.visible = false;
    return { data, layout };
  }

  const download = (element) => ({
    name: "Download as SVG", icon: Plotly.Icons.camera,
    click: () => {
      const { data, layout } = structuredClone(current(element).figure);
      Object.assign(layout, { paper_bgcolor: "#ffffff", plot_bgcolor: "#ffffff", autosize: false });
      const name = document.getElementById(element.getAttribute("aria-labelledby")).textContent;
      Plotly.downloadImage({ data, layout }, { format: "svg", width: 960, height: layout.height, filename: name });
    },
  });

  const current = (element) => { const slot = slots.find((one) => one.element === element); return slot.variants[slot.chosen]; };

  function draw(slot) {
    const { data, layout } = themed(slot.variants[slot.chosen].figure, "keyed" in slot.element.dataset);
    return Plotly.react(slot.element, data, layout, {
      responsive: true, displaylogo: false, modeBarButtons: [[download(slot.element)]], displayModeBar: narrow.matches ? false : "hover",
    });
  }

  async function drawAll() {
    await Promise.all(slots.map(draw));
    root.dataset.rendered = document.querySelectorAll(".figure .main-svg:first-child").length;
    measure();
  }

  function measure() {
    root.dataset.scrollWidth = root.scrollWidth;
    root.dataset.innerWidth = window.innerWidth;
  }

  for (const select of document.querySelectorAll("select[data-for]")) {
    select.addEventListener("change", () => {
      const slot = slots.find((one) => one.element.id === select.dataset.for);
      slot.chosen = Number(select.value);
      draw(slot);
    });
  }
  for (const button of document.querySelectorAll(".key button")) {
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") === "false";
      button.setAttribute("aria-pressed", String(shown));
      hidden[shown ? "delete" : "add"](button.dataset.group);
      slots.filter((slot) => "keyed" in slot.element.dataset).forEach(draw);
    });
  }
  dark.addEventListener("change", drawAll);
  narrow.addEventListener("change", drawAll);
  window.addEventListener("resize", measure);
  root.dataset.figures = slots.length;
  drawAll();
})();
