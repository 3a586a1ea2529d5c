CREATE TABLE all_types (
 id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
 c_tiny tinyint DEFAULT 3, c_tinyu tinyint unsigned, c_bool boolean DEFAULT true, c_tiny1 tinyint(1), c_small smallint, c_smallu smallint unsigned, c_med mediumint, c_medu mediumint unsigned,
 c_int int NOT NULL DEFAULT 42, c_intu int unsigned, c_intz int(8) unsigned zerofill, c_big bigint, c_bigu bigint unsigned,
 c_dec decimal(10,2) DEFAULT 1.50, c_dec65 decimal(65,30), c_dec0 decimal(5,0), c_decu decimal(10,2) unsigned,
 c_float float, c_float72 float(7,2), c_double double, c_bit1 bit(1), c_bit8 bit(8), c_bit20 bit(20), c_bit64 bit(64),
 c_date date DEFAULT '2020-01-02', c_dt datetime, c_dt1 datetime(1), c_dt3 datetime(3), c_dt6 datetime(6), c_ts timestamp NULL DEFAULT NULL, c_ts3 timestamp(3) NULL DEFAULT NULL, c_ts6 timestamp(6) NULL DEFAULT CURRENT_TIMESTAMP(6),
 c_time time, c_time3 time(3), c_time6 time(6), c_year year,
 c_char char(5), c_varchar varchar(20) DEFAULT 'dflt', c_text text, c_medtext mediumtext, c_latin varchar(20) CHARACTER SET latin1,
 c_binary binary(4), c_varbinary varbinary(10), c_blob blob, c_tinyblob tinyblob,
 c_enum enum('a','b','c,d') DEFAULT 'a', c_set set('x','y','z'), c_json json,
 c_uuid uuid,
 c_point point, c_geom geometry, c_line linestring, c_poly polygon,
 c_gen int GENERATED ALWAYS AS (c_int*2) STORED, c_virt int GENERATED ALWAYS AS (c_int+1) VIRTUAL,
 c_null text);
CREATE TABLE composite_pk (a int, b varchar(20), v text, PRIMARY KEY (a,b));
CREATE TABLE `Mixed Case` (`Id` int PRIMARY KEY, `select` text, `col-dash` int, `ünï` text, `1st` int);
CREATE TABLE trunc (id int PRIMARY KEY, v text);
