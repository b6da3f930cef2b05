const element = document.querySelector("bowline-transcript");
const { src, session, token } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
element.token = token;
element.setAttribute("src", src);
element.setAttribute("session", session);
