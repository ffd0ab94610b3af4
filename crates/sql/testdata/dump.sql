--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: sales; Type: SCHEMA; Schema: -; Owner: postgres
--

CREATE SCHEMA sales;


ALTER SCHEMA sales OWNER TO postgres;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: all_types; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.all_types (
    a smallint,
    b integer,
    c bigint,
    d real,
    e double precision,
    f numeric(12,2),
    g text,
    h character varying(5),
    i character(5),
    j bytea,
    k uuid,
    l date,
    m time without time zone,
    n timestamp without time zone,
    o timestamp with time zone,
    p json,
    q jsonb,
    r boolean,
    s numeric
);


ALTER TABLE public.all_types OWNER TO postgres;

--
-- Name: people; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.people (
    id integer NOT NULL,
    name character varying(40) NOT NULL,
    age integer,
    kind text DEFAULT 'guest'::text NOT NULL,
    since timestamp with time zone DEFAULT now(),
    note text,
    CONSTRAINT people_age_check CHECK (((age >= 0) AND (age < 200))),
    CONSTRAINT people_kind_check CHECK ((kind = ANY (ARRAY['guest'::text, 'member'::text])))
);


ALTER TABLE public.people OWNER TO postgres;

--
-- Name: TABLE people; Type: COMMENT; Schema: public; Owner: postgres
--

COMMENT ON TABLE public.people IS 'Who is known';


--
-- Name: COLUMN people.name; Type: COMMENT; Schema: public; Owner: postgres
--

COMMENT ON COLUMN public.people.name IS 'What they''re called';


--
-- Name: people_id_seq; Type: SEQUENCE; Schema: public; Owner: postgres
--

CREATE SEQUENCE public.people_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE public.people_id_seq OWNER TO postgres;

--
-- Name: people_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: postgres
--

ALTER SEQUENCE public.people_id_seq OWNED BY public.people.id;


--
-- Name: orders; Type: TABLE; Schema: sales; Owner: postgres
--

CREATE TABLE sales.orders (
    id bigint NOT NULL,
    person integer NOT NULL,
    amount numeric(10,2) DEFAULT 0.00 NOT NULL,
    placed date DEFAULT CURRENT_DATE,
    CONSTRAINT positive CHECK ((amount > (0)::numeric))
);


ALTER TABLE sales.orders OWNER TO postgres;

--
-- Name: orders_id_seq; Type: SEQUENCE; Schema: sales; Owner: postgres
--

ALTER TABLE sales.orders ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME sales.orders_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: ticket; Type: SEQUENCE; Schema: sales; Owner: postgres
--

CREATE SEQUENCE sales.ticket
    START WITH 100
    INCREMENT BY 10
    NO MINVALUE
    MAXVALUE 1000
    CACHE 1;


ALTER TABLE sales.ticket OWNER TO postgres;

--
-- Name: totals; Type: VIEW; Schema: sales; Owner: postgres
--

CREATE VIEW sales.totals AS
 SELECT p.name,
    sum(o.amount) AS total
   FROM (public.people p
     JOIN sales.orders o ON ((o.person = p.id)))
  GROUP BY p.name;


ALTER TABLE sales.totals OWNER TO postgres;

--
-- Name: people id; Type: DEFAULT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.people ALTER COLUMN id SET DEFAULT nextval('public.people_id_seq'::regclass);


--
-- Data for Name: all_types; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.all_types (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s) FROM stdin;
1	2	3	1.5	2.25	123.45	text	vc	ch   	\\x00ff	b5e9c9a1-0000-4000-8000-000000000001	2024-02-29	12:34:56.789	2024-02-29 12:34:56.789	2024-02-29 12:34:56.789+00	{"a": [1, null]}	{"b": true}	t	12345678901234567890.125
\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N	\N
\.


--
-- Data for Name: people; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.people (id, name, age, kind, since, note) FROM stdin;
1	Ada	36	guest	2024-01-01 00:00:00+00	two\nlines\tand a tab
2	Grace	85	guest	2024-01-02 00:00:00+00	\N
3	Edsger	\N	guest	2024-01-03 00:00:00+00	back\\slash
\.


--
-- Data for Name: orders; Type: TABLE DATA; Schema: sales; Owner: postgres
--

COPY sales.orders (id, person, amount, placed) FROM stdin;
1	1	50.25	2024-02-01
2	1	50.00	2024-02-02
3	2	5.25	2024-02-03
4	3	5.25	\N
\.


--
-- Name: people_id_seq; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public.people_id_seq', 3, true);


--
-- Name: orders_id_seq; Type: SEQUENCE SET; Schema: sales; Owner: postgres
--

SELECT pg_catalog.setval('sales.orders_id_seq', 4, true);


--
-- Name: ticket; Type: SEQUENCE SET; Schema: sales; Owner: postgres
--

SELECT pg_catalog.setval('sales.ticket', 100, true);


--
-- Name: people people_name_key; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.people
    ADD CONSTRAINT people_name_key UNIQUE (name);


--
-- Name: people people_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.people
    ADD CONSTRAINT people_pkey PRIMARY KEY (id);


--
-- Name: orders orders_pkey; Type: CONSTRAINT; Schema: sales; Owner: postgres
--

ALTER TABLE ONLY sales.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);


--
-- Name: people_kind; Type: INDEX; Schema: public; Owner: postgres
--

CREATE INDEX people_kind ON public.people USING btree (kind) INCLUDE (age);


--
-- Name: people_since; Type: INDEX; Schema: public; Owner: postgres
--

CREATE INDEX people_since ON public.people USING btree (since DESC, name);


--
-- Name: orders orders_person_fkey; Type: FK CONSTRAINT; Schema: sales; Owner: postgres
--

ALTER TABLE ONLY sales.orders
    ADD CONSTRAINT orders_person_fkey FOREIGN KEY (person) REFERENCES public.people(id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--


