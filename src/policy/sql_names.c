/* The functions that only compute or read.
 *
 * A name that is not here may do anything, so it is refused. `portable` are functions of several databases,
 * and in none of them one that acts; they count as known everywhere, because a database that lacks one
 * answers with an error. Volatile functions of PostgreSQL were looked at one by one; of its stable ones those
 * are missing that run a query given as text or assign a transaction id. Names of types stand here as well:
 * `decimal(10, 2)` looks like a call. */
#include "policy/sql.h"

#include <string.h>

#define SQL_FUNCTION_MAX 64 /* bytes of a name that is looked up; no known one is longer */

/* clang-format off */
static const char portable_names[] =
    " abs acos acosh age any_value approx_count_distinct approx_distinct arbitrary array_agg array_append"
    " array_cat array_concat array_contains array_distinct array_join array_length array_max array_min"
    " array_position array_prepend array_remove array_size array_slice array_sort array_to_string ascii"
    " asin asinh atan atan2 atanh avg bigint bin binary bit_and bit_count bit_length bit_or bit_xor"
    " bool_and bool_or boolean btrim cardinality cast cbrt ceil ceiling char char_length character"
    " character_length charindex chr coalesce concat concat_ws contains convert convert_timezone corr cos"
    " cosh cot count count_if countif covar_pop covar_samp crc32 cume_dist curdate current_database"
    " current_date current_role current_schema current_time current_timestamp current_user curtime"
    " database date date_add date_diff date_format date_part date_sub date_trunc dateadd datediff"
    " datefromparts datename datepart datetime datetime2 datetimeoffset datetrunc day dayname dayofmonth"
    " dayofweek dayofyear dec decimal decode degrees dense_rank double encode ends_with endswith eomonth"
    " every exp extract factorial first first_value flatten float floor format format_date from_unixtime"
    " gcd gen_random_uuid generate_series getdate getutcdate greatest group_concat grouping grouping_id"
    " hex histogram hour ifnull iif initcap instr int integer isdate isfinite isjson isnull isnumeric"
    " iso_week json json_agg json_array json_array_elements json_array_elements_text json_array_length"
    " json_arrayagg json_build_array json_build_object json_contains json_each json_each_text json_exists"
    " json_extract json_extract_path json_extract_path_text json_extract_scalar json_keys json_length"
    " json_object json_object_agg json_object_keys json_objectagg json_query json_search json_table"
    " json_type json_typeof json_unquote json_valid json_value jsonb jsonb_agg jsonb_array_elements"
    " jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each"
    " jsonb_each_text jsonb_extract_path jsonb_extract_path_text jsonb_object_agg jsonb_object_keys"
    " jsonb_path_exists jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_pretty"
    " jsonb_set jsonb_typeof julianday lag last last_day last_value lcase lcm lead least left len length"
    " levenshtein like listagg ln localtime localtimestamp locate log log10 log2 lower lpad ltrim"
    " make_date make_interval make_time make_timestamp make_timestamptz max max_by md5 median microsecond"
    " mid min min_by minute mod mode month monthname months_between nchar now nth_value ntile nullif"
    " numeric nvarchar nvl nvl2 octet_length overlay parse_date parse_json patindex percent_rank"
    " percentile_cont percentile_disc phraseto_tsquery pi plainto_tsquery position pow power quarter"
    " quote_ident quote_literal radians rand random rank ratio_to_report regexp_contains regexp_count"
    " regexp_extract regexp_extract_all regexp_instr regexp_like regexp_match regexp_matches"
    " regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr regr_avgx regr_avgy"
    " regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat replace replicate"
    " reverse right round row row_number row_to_json rpad rtrim safe_cast safe_divide schema"
    " scope_identity second session_user sha1 sha2 sha224 sha256 sha384 sha512 sign similarity sin sinh"
    " size smallint sort_array soundex space split split_part sqrt square starts_with startswith"
    " statement_timestamp stddev stddev_pop stddev_samp stdev stdevp str strcmp strftime string_agg"
    " string_split string_to_array string_to_table strpos struct stuff substr substring substring_index"
    " sum switchoffset sysdate sysdatetime sysdatetimeoffset system_user sysutcdatetime tan tanh text time"
    " time_bucket time_format time_to_sec timestamp timestamp_add timestamp_diff timestamp_trunc"
    " timestampadd timestampdiff timestamptz timezone tinyint to_base64 to_char to_date to_days to_hex"
    " to_json to_json_string to_jsonb to_number to_timestamp to_tsquery to_tsvector to_unixtime to_varchar"
    " total transaction_timestamp translate trim trunc try_cast try_convert try_parse ts_rank ts_rank_cd"
    " typeof ucase unhex unicode unix_timestamp unixepoch unnest upper user utc_date utc_time"
    " utc_timestamp uuid uuid_generate_v4 var_pop var_samp varbinary varchar variance version"
    " websearch_to_tsquery week weekday weekofyear width_bucket year year_month yearweek zeroifnull"
    " bit number precision string varying"
    " ";

static const char postgres_names[] =
    " abbrev aclexplode acosd akeys approximate_row_count area armor array_dims array_fill array_lower"
    " array_ndims array_positions array_replace array_reverse array_sample array_shuffle array_to_json"
    " array_to_tsvector array_upper arraycontained arraycontains arrayoverlap asind atan2d atand avals"
    " binary_quantize bit bool bound_box box box2d box3d box_intersect bpchar broadcast casefold"
    " cash_words center chunks_detailed_size cidr circle citext clock_timestamp col_description"
    " convert_from convert_to cosd cosine_distance cotd crc32c crypt cube cube_contained cube_contains"
    " cube_coord cube_coord_llur cube_dim cube_distance cube_inter cube_is_point cube_ll_coord"
    " cube_overlap cube_size cube_subset cube_union cube_ur_coord current_query current_schemas"
    " current_setting currval date_bin date_subtract datemultirange daterange dearmor decrypt decrypt_iv"
    " defined delete diagonal diameter difference digest distance_chebyshev distance_taxicab div"
    " dmetaphone dmetaphone_alt each earth earth_box earth_distance encrypt encrypt_iv enum_first"
    " enum_last enum_range erf erfc exist exists_all exists_any family fetchval float4 float8 format_type"
    " gamma gc_to_sec gen_random_bytes gen_salt generate_subscripts geo_distance geography geometry"
    " geometrytype get_bit get_byte get_current_ts_config getdatabaseencoding getpgusername halfvec"
    " hamming_distance has_any_column_privilege has_column_privilege has_database_privilege"
    " has_foreign_data_wrapper_privilege has_function_privilege has_language_privilege"
    " has_parameter_privilege has_schema_privilege has_sequence_privilege has_server_privilege"
    " has_table_privilege has_tablespace_privilege has_type_privilege height hmac host hostmask hstore"
    " hstore_to_array hstore_to_json hstore_to_json_loose hstore_to_jsonb hstore_to_jsonb_loose"
    " hstore_to_matrix hstore_version_diag hypertable_detailed_size hypertable_size icount idx index"
    " inet_client_addr inet_client_port inet_merge inet_same_family inet_server_addr inet_server_port"
    " inner_product int2 int4 int4multirange int4range int8 int8multirange int8range intarray_del_elem"
    " intarray_push_array intarray_push_elem interpolate interval intset intset_subtract intset_union_elem"
    " is_normalized isclosed isdefined isempty isexists ishorizontal isopen isparallel isperp isvertical"
    " jaccard_distance json_populate_record json_populate_recordset json_scalar json_serialize"
    " json_strip_nulls json_to_record json_to_recordset json_to_tsvector jsonb_concat jsonb_contained"
    " jsonb_contains jsonb_delete jsonb_delete_path jsonb_exists jsonb_exists_all jsonb_exists_any"
    " jsonb_insert jsonb_object jsonb_path_exists_tz jsonb_path_match jsonb_path_match_tz"
    " jsonb_path_query_array_tz jsonb_path_query_first_tz jsonb_path_query_tz jsonb_populate_record"
    " jsonb_populate_recordset jsonb_set_lax jsonb_strip_nulls jsonb_to_record jsonb_to_recordset"
    " jsonb_to_tsvector justify_days justify_hours justify_interval l1_distance l2_distance l2_norm"
    " l2_normalize lastval latitude lca levenshtein_less_equal lgamma like_escape line ll_to_earth locf"
    " longitude lower_inc lower_inf lseg ltree2text ltree_addltree ltree_addtext ltree_isparent"
    " ltree_risparent ltree_textadd macaddr macaddr8 macaddr8_set7bit masklen metaphone min_scale money"
    " multirange multirange_intersect mxid_age name negative_inner_product netmask network nlevel"
    " normal_rand normalize notlike npoints num_nonnulls num_nulls nummultirange numnode numrange"
    " obj_description oid overlaps parse_ident path pclose pg_available_extension_versions"
    " pg_available_extensions pg_backend_pid pg_basetype pg_blocking_pids pg_char_to_encoding"
    " pg_client_encoding pg_collation_actual_version pg_collation_for pg_collation_is_visible"
    " pg_column_compression pg_column_is_updatable pg_column_size pg_conf_load_time pg_config"
    " pg_conversion_is_visible pg_current_snapshot pg_current_wal_flush_lsn pg_current_wal_insert_lsn"
    " pg_current_wal_lsn pg_current_xact_id_if_assigned pg_database_size pg_describe_object"
    " pg_encoding_max_length pg_encoding_to_char pg_extension_update_paths pg_filenode_relation"
    " pg_function_is_visible pg_get_acl pg_get_catalog_foreign_keys pg_get_constraintdef pg_get_expr"
    " pg_get_function_arg_default pg_get_function_arguments pg_get_function_identity_arguments"
    " pg_get_function_result pg_get_function_sqlbody pg_get_functiondef pg_get_indexdef pg_get_keywords"
    " pg_get_object_address pg_get_partition_constraintdef pg_get_partkeydef pg_get_publication_tables"
    " pg_get_replica_identity_index pg_get_ruledef pg_get_serial_sequence pg_get_statisticsobjdef"
    " pg_get_statisticsobjdef_columns pg_get_statisticsobjdef_expressions pg_get_triggerdef"
    " pg_get_userbyid pg_get_viewdef pg_has_role pg_identify_object pg_identify_object_as_address"
    " pg_index_column_has_property pg_index_has_property pg_indexam_has_property"
    " pg_indexam_progress_phasename pg_indexes_size pg_input_error_info pg_input_is_valid"
    " pg_is_in_recovery pg_is_other_temp_schema pg_is_wal_replay_paused pg_jit_available"
    " pg_last_committed_xact pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp"
    " pg_listening_channels pg_lock_status pg_lsn pg_mcv_list_items pg_my_temp_schema"
    " pg_notification_queue_usage pg_opclass_is_visible pg_operator_is_visible pg_opfamily_is_visible"
    " pg_options_to_table pg_partition_ancestors pg_partition_root pg_partition_tree"
    " pg_postmaster_start_time pg_prepared_xact pg_relation_filenode pg_relation_filepath"
    " pg_relation_is_publishable pg_relation_is_updatable pg_relation_size pg_safe_snapshot_blocking_pids"
    " pg_sequence_last_value pg_sequence_parameters pg_settings_get_flags pg_show_all_settings"
    " pg_size_bytes pg_size_pretty pg_snapshot_xip pg_snapshot_xmax pg_snapshot_xmin pg_stat_get_activity"
    " pg_stat_get_analyze_count pg_stat_get_archiver pg_stat_get_autoanalyze_count"
    " pg_stat_get_autovacuum_count pg_stat_get_backend_activity pg_stat_get_backend_activity_start"
    " pg_stat_get_backend_client_addr pg_stat_get_backend_client_port pg_stat_get_backend_dbid"
    " pg_stat_get_backend_idset pg_stat_get_backend_pid pg_stat_get_backend_start"
    " pg_stat_get_backend_userid pg_stat_get_backend_wait_event pg_stat_get_backend_wait_event_type"
    " pg_stat_get_backend_xact_start pg_stat_get_bgwriter_buf_written_checkpoints"
    " pg_stat_get_bgwriter_buf_written_clean pg_stat_get_bgwriter_maxwritten_clean"
    " pg_stat_get_bgwriter_requested_checkpoints pg_stat_get_bgwriter_stat_reset_time"
    " pg_stat_get_bgwriter_timed_checkpoints pg_stat_get_blocks_fetched pg_stat_get_blocks_hit"
    " pg_stat_get_buf_alloc pg_stat_get_buf_fsync_backend pg_stat_get_buf_written_backend"
    " pg_stat_get_checkpoint_sync_time pg_stat_get_checkpoint_write_time pg_stat_get_db_active_time"
    " pg_stat_get_db_blk_read_time pg_stat_get_db_blk_write_time pg_stat_get_db_blocks_fetched"
    " pg_stat_get_db_blocks_hit pg_stat_get_db_checksum_failures pg_stat_get_db_checksum_last_failure"
    " pg_stat_get_db_conflict_all pg_stat_get_db_conflict_bufferpin pg_stat_get_db_conflict_lock"
    " pg_stat_get_db_conflict_snapshot pg_stat_get_db_conflict_startup_deadlock"
    " pg_stat_get_db_conflict_tablespace pg_stat_get_db_deadlocks pg_stat_get_db_idle_in_transaction_time"
    " pg_stat_get_db_numbackends pg_stat_get_db_session_time pg_stat_get_db_sessions"
    " pg_stat_get_db_sessions_abandoned pg_stat_get_db_sessions_fatal pg_stat_get_db_sessions_killed"
    " pg_stat_get_db_stat_reset_time pg_stat_get_db_temp_bytes pg_stat_get_db_temp_files"
    " pg_stat_get_db_tuples_deleted pg_stat_get_db_tuples_fetched pg_stat_get_db_tuples_inserted"
    " pg_stat_get_db_tuples_returned pg_stat_get_db_tuples_updated pg_stat_get_db_xact_commit"
    " pg_stat_get_db_xact_rollback pg_stat_get_dead_tuples pg_stat_get_function_calls"
    " pg_stat_get_function_self_time pg_stat_get_function_total_time pg_stat_get_ins_since_vacuum"
    " pg_stat_get_last_analyze_time pg_stat_get_last_autoanalyze_time pg_stat_get_last_autovacuum_time"
    " pg_stat_get_last_vacuum_time pg_stat_get_live_tuples pg_stat_get_mod_since_analyze"
    " pg_stat_get_numscans pg_stat_get_progress_info pg_stat_get_replication_slot pg_stat_get_slru"
    " pg_stat_get_snapshot_timestamp pg_stat_get_subscription pg_stat_get_subscription_stats"
    " pg_stat_get_tuples_deleted pg_stat_get_tuples_fetched pg_stat_get_tuples_hot_updated"
    " pg_stat_get_tuples_inserted pg_stat_get_tuples_returned pg_stat_get_tuples_updated"
    " pg_stat_get_vacuum_count pg_stat_get_wal pg_stat_get_wal_receiver pg_stat_get_wal_senders"
    " pg_stat_statements pg_stat_statements_info pg_statistics_obj_is_visible pg_table_is_visible"
    " pg_table_size pg_tablespace_databases pg_tablespace_location pg_tablespace_size pg_timezone_abbrevs"
    " pg_timezone_names pg_total_relation_size pg_trigger_depth pg_ts_config_is_visible"
    " pg_ts_dict_is_visible pg_ts_parser_is_visible pg_ts_template_is_visible pg_type_is_visible pg_typeof"
    " pg_visible_in_snapshot pg_wal_lsn_diff pg_walfile_name pg_walfile_name_offset"
    " pg_xact_commit_timestamp pg_xact_status pgp_armor_headers pgp_key_id pgp_pub_decrypt"
    " pgp_pub_decrypt_bytea pgp_sym_decrypt pgp_sym_decrypt_bytea point polygon populate_record"
    " postgis_full_version postgis_version querytree quote_nullable radius random_normal range_agg"
    " range_intersect range_intersect_agg range_merge range_minus range_union regclass row_security_active"
    " scale sec_to_gc set_bit set_byte set_masklen setweight shobj_description show_chunks show_limit"
    " show_trgm similar_escape similar_to_escape similarity_dist sind skeys slice slice_array slope sort"
    " sort_asc sort_desc sparsevec st_3dextent st_3dlength st_area st_asbinary st_asewkb st_asewkt"
    " st_asgeojson st_asgml st_askml st_aslatlontext st_asmvt st_asmvtgeom st_assvg st_astext st_azimuth"
    " st_boundary st_boundingdiagonal st_buffer st_centroid st_clipbybox2d st_closestpoint"
    " st_clusterdbscan st_clusterkmeans st_clusterwithin st_collect st_collectionextract st_concavehull"
    " st_contains st_containsproperly st_convexhull st_coorddim st_coveredby st_covers st_crosses"
    " st_curvetoline st_delaunaytriangles st_dfullywithin st_difference st_dimension st_disjoint"
    " st_distance st_distancesphere st_distancespheroid st_dump st_dumppoints st_dumprings st_dwithin"
    " st_endpoint st_envelope st_equals st_expand st_extent st_exteriorring st_flipcoordinates st_force2d"
    " st_force3d st_forcepolygonccw st_forcepolygoncw st_frechetdistance st_generatepoints st_geogfromtext"
    " st_geographyfromtext st_geohash st_geomcollfromtext st_geometricmedian st_geometryfromtext"
    " st_geometryn st_geometrytype st_geomfromewkb st_geomfromewkt st_geomfromgeohash st_geomfromgeojson"
    " st_geomfromgml st_geomfromkml st_geomfromtext st_geomfromwkb st_hasarc st_hausdorffdistance"
    " st_hexagon st_hexagongrid st_interiorringn st_interpolatepoint st_intersection st_intersects"
    " st_isclosed st_iscollection st_isempty st_ispolygonccw st_ispolygoncw st_isring st_issimple"
    " st_isvalid st_isvaliddetail st_isvalidreason st_length st_length2d st_lengthspheroid"
    " st_linecrossingdirection st_linefromtext st_lineinterpolatepoint st_lineinterpolatepoints"
    " st_linelocatepoint st_linemerge st_linesubstring st_longestline st_m st_makebox2d st_makeenvelope"
    " st_makeline st_makepoint st_makepointm st_makepolygon st_makevalid st_maxdistance st_memsize"
    " st_memunion st_minimumboundingcircle st_mlinefromtext st_mpolyfromtext st_multi st_ndims st_node"
    " st_normalize st_npoints st_nrings st_numgeometries st_numinteriorrings st_numpoints st_offsetcurve"
    " st_orderingequals st_orientedenvelope st_overlaps st_perimeter st_point st_pointfromgeohash"
    " st_pointfromtext st_pointn st_pointonsurface st_points st_polygon st_polygonfromtext st_polygonize"
    " st_project st_quantizecoordinates st_reduceprecision st_relate st_removepoint"
    " st_removerepeatedpoints st_reverse st_rotate st_scale st_segmentize st_setpoint st_setsrid"
    " st_sharedpaths st_shortestline st_simplify st_simplifypreservetopology st_simplifyvw st_snap"
    " st_snaptogrid st_split st_square st_squaregrid st_srid st_startpoint st_subdivide st_summary"
    " st_swapordinates st_symdifference st_tileenvelope st_touches st_transform st_translate st_transscale"
    " st_unaryunion st_union st_voronoilines st_voronoipolygons st_within st_wkttosql st_wrapx st_x"
    " st_xmax st_xmin st_y st_ymax st_ymin st_z st_zmax st_zmflag st_zmin strict_word_similarity strip"
    " subarray subltree subpath subvector svals tand tconvert text2ltree text_soundex time_bucket_gapfill"
    " timeofday timetz to_ascii to_bin to_oct to_regclass to_regcollation to_regnamespace to_regoper"
    " to_regoperator to_regproc to_regprocedure to_regrole to_regtype trim_array trim_scale ts_debug"
    " ts_delete ts_filter ts_headline ts_lexize ts_parse ts_token_type tsmultirange tsquery_phrase tsrange"
    " tstzmultirange tstzrange tsvector_to_array txid_current_if_assigned txid_current_snapshot"
    " txid_snapshot_xip txid_snapshot_xmax txid_snapshot_xmin txid_status txid_visible_in_snapshot"
    " unaccent uniq unistr upper_inc upper_inf uuid_extract_timestamp uuid_extract_version"
    " uuid_generate_v1 uuid_generate_v1mc uuid_generate_v3 uuid_generate_v5 uuid_nil uuid_ns_dns"
    " uuid_ns_oid uuid_ns_url uuid_ns_x500 uuidv4 uuidv7 varbit vector vector_dims vector_norm width"
    " word_similarity xid xml xml_is_well_formed xml_is_well_formed_content xml_is_well_formed_document"
    " xmlagg xmlcomment xmlconcat xmlelement xmlexists xmlforest xmltext xmlvalidate xpath xpath_exists"
    " bytea has_largeobject_privilege hash_array hashint4 hashint8 hashtext inet jsonb_populate_record_valid jsonpath"
    " multirange_minus_multi pg_control_checkpoint pg_control_init pg_control_recovery pg_control_system"
    " range_minus_multi regcollation regnamespace regoper regoperator regproc regprocedure regrole regtype tid_block"
    " tid_offset to_regtypemod tsquery tsvector"
    " ";

static const char mysql_names[] =
    " adddate addtime aes_decrypt aes_encrypt against bin_to_uuid can_access_column charset coercibility"
    " collation column_check column_exists column_get column_json column_list compress connection_id"
    " conv convert_tz crc32c decode_oracle des_decrypt elt enum export_set extractvalue field find_in_set"
    " format_bytes format_pico_time found_rows from_base64 from_days geomcollection geometrycollection"
    " get_format gtid_subset gtid_subtract icu_version if inet6_aton inet6_ntoa inet_aton inet_ntoa insert"
    " interval is_ipv4 is_ipv4_compat is_ipv4_mapped is_ipv6 is_uuid json_array_append json_array_insert"
    " json_array_intersect json_compact json_contains_path json_depth json_detailed json_equals"
    " json_insert json_key_value json_loose json_merge json_merge_patch json_merge_preserve json_normalize"
    " json_object_filter_keys json_object_to_array json_overlaps json_pretty json_quote json_remove"
    " json_replace json_schema_valid json_schema_validation_report json_set json_storage_free"
    " json_storage_size linestring make_set makedate maketime mbrcontains mbrcoveredby mbrcovers"
    " mbrdisjoint mbrequals mbrintersects mbroverlaps mbrtouches mbrwithin mediumint member"
    " multilinestring multipoint multipolygon natural_sort_key oct ord period_add period_diff point"
    " polygon ps_current_thread_id ps_thread_id quote random_bytes roles_graphml row_count sec_to_time set"
    " sformat sha signed st_area st_asbinary st_asgeojson st_astext st_aswkb st_aswkt st_buffer"
    " st_buffer_strategy st_centroid st_collect st_contains st_convexhull st_crosses st_difference"
    " st_dimension st_disjoint st_distance st_distance_sphere st_endpoint st_envelope st_equals"
    " st_exteriorring st_frechetdistance st_geohash st_geomcollfromtext st_geometryn st_geometrytype"
    " st_geomfromgeojson st_geomfromtext st_geomfromwkb st_hausdorffdistance st_interiorringn"
    " st_intersection st_intersects st_isclosed st_isempty st_issimple st_isvalid st_latfromgeohash"
    " st_latitude st_length st_linefromtext st_lineinterpolatepoint st_lineinterpolatepoints"
    " st_longfromgeohash st_longitude st_makeenvelope st_mlinefromtext st_mpointfromtext st_mpolyfromtext"
    " st_numgeometries st_numinteriorrings st_numpoints st_overlaps st_pointatdistance st_pointfromgeohash"
    " st_pointfromtext st_pointn st_polyfromtext st_simplify st_srid st_startpoint st_swapxy"
    " st_symdifference st_touches st_transform st_union st_validate st_within st_x st_y statement_digest"
    " statement_digest_text std str_to_date string_to_vector subdate subtime sys_guid timediff to_seconds"
    " truncate uncompress uncompressed_length unsigned updatexml uuid_to_bin validate_password_strength"
    " values vec_distance vec_distance_cosine vec_distance_euclidean vec_fromtext vec_totext vector_dim"
    " vector_to_string weight_string"
    " ";

static const char sqlite_names[] =
    " bm25 changes decimal_add decimal_cmp decimal_mul decimal_sub decimal_sum glob highlight ieee754"
    " ieee754_exponent ieee754_mantissa json_array_insert json_error_position json_group_array"
    " json_group_object json_insert json_patch json_pretty json_quote json_remove json_replace json_set"
    " json_tree jsonb_array jsonb_extract jsonb_group_array jsonb_group_object jsonb_insert jsonb_object"
    " jsonb_patch jsonb_remove jsonb_replace jsonb_tree last_insert_rowid likelihood likely match"
    " matchinfo offsets pragma_collation_list pragma_compile_options pragma_database_list"
    " pragma_foreign_key_check pragma_foreign_key_list pragma_function_list pragma_index_info"
    " pragma_index_list pragma_index_xinfo pragma_integrity_check pragma_module_list pragma_pragma_list"
    " pragma_quick_check pragma_table_info pragma_table_list pragma_table_xinfo printf quote randomblob"
    " real regexp regexpi rtreecheck rtreedepth rtreenode sha3 snippet sqlite_compileoption_get"
    " sqlite_compileoption_used sqlite_offset sqlite_source_id sqlite_version subtype timediff"
    " total_changes uint unistr unistr_quote unlikely vec_distance_cosine vec_distance_l2 vec_f32"
    " vec_length vec_version zeroblob"
    " ";

static const char mssql_names[] =
    " app_name approx_percentile_cont approx_percentile_disc assemblyproperty asymkey_id atn2"
    " base64_decode base64_encode binary_checksum cert_id certencoded certproperty checksum checksum_agg"
    " choose col_length col_name collationproperty columnproperty columns_updated compress"
    " connectionproperty containstable count_big current_request_id current_timezone current_timezone_id"
    " current_transaction_id cursor_status database_principal_id databasepropertyex datalength date_bucket"
    " datediff_big datetime2fromparts datetimefromparts datetimeoffsetfromparts db_id db_name decompress"
    " difference edit_distance edit_distance_similarity error_line error_message error_number"
    " error_procedure error_severity error_state file_id file_idex file_name filegroup_id filegroup_name"
    " filegroupproperty fileproperty filepropertyex formatmessage freetext freetexttable"
    " fulltextcatalogproperty fulltextserviceproperty get_bit get_filestream_transaction_context"
    " getansinull has_dbaccess has_perms_by_name hashbytes host_id host_name ident_current ident_incr"
    " ident_seed identity index_col indexkey_property indexproperty is_member is_rolemember"
    " is_srvrolemember jaro_winkler_distance jaro_winkler_similarity json_modify json_path_exists jsonpath"
    " key_guid key_id key_name left_shift loginproperty min_active_rowversion money newid newsequentialid"
    " object_definition object_id object_name object_schema_name objectproperty objectpropertyex openjson"
    " original_db_name original_login parse parsename permissions publishingservername pwdcompare"
    " pwdencrypt quotename right_shift rowcount_big schema_id schema_name serverproperty session_context"
    " session_id set_bit smalldatetime smalldatetimefromparts smallmoney sql_variant sql_variant_property"
    " stats_date string_escape suser_id suser_name suser_sid suser_sname symkeyproperty tertiary_weights"
    " textptr textvalid timefromparts todatetimeoffset trigger_nestlevel type_id type_name typeproperty"
    " uniqueidentifier user_id user_name var varp verifysignedbyasymkey verifysignedbycert xact_state xml"
    " path raw root"
    " ";

/* Of PostgreSQL and its extensions, and Oracle's sequences. */
static const char acting_names[] =
    " nextval setval set_config setseed currtid2 loread lowrite query_to_xml query_to_xmlschema"
    " query_to_xml_and_xmlschema cursor_to_xml cursor_to_xmlschema table_to_xml table_to_xmlschema"
    " table_to_xml_and_xmlschema schema_to_xml schema_to_xmlschema schema_to_xml_and_xmlschema database_to_xml"
    " database_to_xmlschema database_to_xml_and_xmlschema ts_stat ts_rewrite txid_current xslt_process xpath_table"
    " crosstab crosstab2 crosstab3 crosstab4 connectby get_raw_page verify_heapam autoprewarm_dump_now"
    " autoprewarm_start_worker set_limit isn_weak gin_clean_pending_list amvalidate plpgsql_validator ";

static const char *const acting_prefixes[] = {"pg_",   "lo_",  "dblink", "binary_upgrade_", "heap_force_", "brin_", "bt_index_",
                                              "pgstat", "postgres_fdw_", NULL};
/* clang-format on */

static const char *const dialect_names[POLICY_SQL_DIALECTS] = {
    [POLICY_SQL_ANY] = " ",           [POLICY_SQL_POSTGRES] = postgres_names,
    [POLICY_SQL_MYSQL] = mysql_names, [POLICY_SQL_SQLITE] = sqlite_names,
    [POLICY_SQL_MSSQL] = mssql_names,
};

bool policy_sql_in(struct slice word, const char *list) {
    char key[SQL_FUNCTION_MAX + 2];
    if (word.len == 0 || word.len > SQL_FUNCTION_MAX)
        return false;
    key[0] = key[word.len + 1] = ' ';
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i];
        if (c == ' ')
            return false;
        key[i + 1] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    return memmem(list, strlen(list), key, word.len + 2);
}

bool policy_sql_knows(struct slice function, enum policy_sql_dialect dialect) {
    return policy_sql_in(function, portable_names) || policy_sql_in(function, dialect_names[dialect]);
}

bool policy_sql_acts_as_column(struct slice name) {
    for (const char *const *prefix = acting_prefixes; *prefix; prefix++)
        if (slice_eq_nocase(slice_upto(name, strlen(*prefix)), slice_str(*prefix)))
            return !policy_sql_knows(name, POLICY_SQL_POSTGRES);
    return policy_sql_in(name, acting_names);
}
